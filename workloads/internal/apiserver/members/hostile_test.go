package members_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver/members"
)

// impostor is a Pod that answers as a member does.
type impostor struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	send func(to pb.Maintenance_SnapshotServer) error
}

func (*impostor) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 7}}, nil
}

func (i *impostor) Snapshot(_ *pb.SnapshotRequest, to pb.Maintenance_SnapshotServer) error {
	return i.send(to)
}

// posing are the members of an instance whose only one is an impostor.
func posing(t *testing.T, send func(to pb.Maintenance_SnapshotServer) error) *members.Members {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	server := grpc.NewServer()
	pb.RegisterKVServer(server, &impostor{send: send})
	pb.RegisterMaintenanceServer(server, &impostor{send: send})
	go server.Serve(listener) //nolint:errcheck // It ends with the test.
	t.Cleanup(server.Stop)
	return &members.Members{
		Reader:  builder(t, running()).Build(),
		Address: func(*workloadsv1alpha1.ETCDInstance, string) string { return "http://" + listener.Addr().String() },
	}
}

// A message is in memory whole before any of it can be read.
func TestAMessageOfAMemberIsBounded(t *testing.T) {
	message := func(size int) *pb.SnapshotResponse {
		return &pb.SnapshotResponse{Blob: make([]byte, size), RemainingBytes: 1}
	}
	read := func(t *testing.T, sizes ...int) (int, error) {
		t.Helper()
		opened, err := posing(t, func(to pb.Maintenance_SnapshotServer) error {
			for _, size := range sizes {
				if err := to.Send(message(size)); err != nil {
					return err
				}
			}
			return nil
		}).Open(t.Context(), named)
		if err != nil {
			return 0, err
		}
		defer opened.Close()
		all, err := io.ReadAll(opened)
		return len(all), err
	}
	t.Run("those of etcd are passed on", func(t *testing.T) {
		g := NewWithT(t)
		size, err := read(t, 32<<10, 32<<10)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(size).To(Equal(64 << 10))
	})
	t.Run("the first one may not be larger", func(t *testing.T) {
		_, err := read(t, 2<<20)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("larger than max")))
	})
	t.Run("nor one that comes later", func(t *testing.T) {
		g := NewWithT(t)
		size, err := read(t, 32<<10, 2<<20)
		g.Expect(err).To(MatchError(ContainSubstring("larger than max")))
		g.Expect(size).To(Equal(32 << 10))
	})
}

// What holds a place must not hold it for as long as it likes.
func TestAMemberThatStopsSending(t *testing.T) {
	g := NewWithT(t)
	from := posing(t, func(to pb.Maintenance_SnapshotServer) error {
		err := to.Send(&pb.SnapshotResponse{Blob: make([]byte, 32<<10), RemainingBytes: 1})
		<-to.Context().Done()
		return err
	})
	// It bounds the beginning of the snapshot as well, and each part of it that comes.
	from.Stall = 3 * time.Second
	opened, err := from.Open(t.Context(), named)
	g.Expect(err).NotTo(HaveOccurred())
	defer opened.Close()
	all, err := io.ReadAll(opened)
	g.Expect(err).To(MatchError(ContainSubstring("it sent nothing for 3s")))
	g.Expect(all).To(HaveLen(32 << 10))
}

func TestAMemberThatBeginsNoSnapshot(t *testing.T) {
	from := posing(t, func(to pb.Maintenance_SnapshotServer) error { <-to.Context().Done(); return nil })
	from.Stall = 100 * time.Millisecond
	_, err := from.Open(t.Context(), named)
	NewWithT(t).Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue(), "%v", err)
}

// endless is a snapshot that does not fit into the buffers of a connection.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestAPodThatTakesNothing(t *testing.T) {
	for sentence, says := range map[string]string{
		"of the snapshot":    "",
		"and ends no answer": "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 9\r\n\r\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			g.Expect(err).NotTo(HaveOccurred())
			t.Cleanup(func() { listener.Close() })
			go func() {
				accepted, err := listener.Accept()
				if err != nil {
					return
				}
				defer accepted.Close()
				_, _ = io.WriteString(accepted, says)
				<-t.Context().Done()
			}()
			to := reaching(t, listener.Addr().String(), waiting(), receiving())
			to.Stall = 100 * time.Millisecond
			receiver, err := to.Receiver(t.Context(), named)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(apierrors.IsServiceUnavailable(receiver(t.Context(), endless{}))).To(BeTrue())
		})
	}
}
