package responder_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

// message is not ASCII, so that its encoding is seen.
const message = "Der Laden ist 100% zu – bis später."

func grpcWorld(t *testing.T) (*world, *grpc.ClientConn, context.Context) {
	t.Helper()
	probed := says(message)
	probed.Probes = &criticalv2.Probes{UserAgents: []string{"probe/"}}
	w := start(t, 1, []listener.Listener{{Port: 0, Service: "shop", AppProtocol: "grpc", ServicePort: 90, Page: probed}}, nil)
	conn, err := grpc.NewClient(w.address(0), grpc.WithTransportCredentials(insecure.NewCredentials()))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return w, conn, ctx
}

func TestGRPCIsUnavailableAndSaysWhenToRetry(t *testing.T) {
	g := NewWithT(t)
	w, conn, ctx := grpcWorld(t)
	for range 5 {
		err := conn.Invoke(ctx, "/shop.v1.Shop/Buy", &emptypb.Empty{}, &emptypb.Empty{})
		g.Expect(status.Code(err)).To(Equal(codes.Unavailable))
		g.Expect(status.Convert(err).Message()).To(Equal(message))
		g.Expect(status.Convert(err).Details()).To(HaveLen(1))
		info, isRetryInfo := status.Convert(err).Details()[0].(*errdetails.RetryInfo)
		g.Expect(isRetryInfo).To(BeTrue())
		g.Expect(info.GetRetryDelay().AsDuration()).To(Equal(7 * time.Second))
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/shop.v1.Shop/Chat")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status.Code(stream.RecvMsg(&emptypb.Empty{}))).To(Equal(codes.Unavailable))
	g.Eventually(w.metrics, timeout).Should(
		ContainSubstring(`critical_service_responder_answers_total{port="90",protocol="grpc",service="shop",status="14"} 6`))
}

func TestGRPCHealthIsNotServing(t *testing.T) {
	g := NewWithT(t)
	w, conn, ctx := grpcWorld(t)
	health := healthv1.NewHealthClient(conn)
	answer, err := health.Check(ctx, &healthv1.HealthCheckRequest{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.GetStatus()).To(Equal(healthv1.HealthCheckResponse_NOT_SERVING))

	watch, err := health.Watch(ctx, &healthv1.HealthCheckRequest{Service: "shop"})
	g.Expect(err).NotTo(HaveOccurred())
	first, err := watch.Recv()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.GetStatus()).To(Equal(healthv1.HealthCheckResponse_NOT_SERVING))
	_, err = watch.Recv()
	g.Expect(status.Code(err)).To(Equal(codes.Unavailable), "the watch ends, so that the client looks for the real Pods")

	probing, err := grpc.NewClient(w.address(0), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent("probe/1"))
	g.Expect(err).NotTo(HaveOccurred())
	defer probing.Close()
	answer, err = healthv1.NewHealthClient(probing).Check(ctx, &healthv1.HealthCheckRequest{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.GetStatus()).To(Equal(healthv1.HealthCheckResponse_SERVING), "a probe of a load balancer")
}

func TestGRPCOverHTTP1(t *testing.T) {
	w, _, ctx := grpcWorld(t)
	post := func(t *testing.T, contentType, path string) (*http.Response, string) {
		t.Helper()
		g := NewWithT(t)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url(0, path), bytes.NewReader(make([]byte, 5)))
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Content-Type", contentType)
		answer, err := http.DefaultClient.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return answer, string(body)
	}
	t.Run("gRPC-Web gets its status in the header", func(t *testing.T) {
		g := NewWithT(t)
		answer, body := post(t, "application/grpc-web+proto", "/shop.v1.Shop/Buy")
		g.Expect(answer.StatusCode).To(Equal(200))
		g.Expect(answer.Header.Get("Content-Type")).To(Equal("application/grpc-web+proto"))
		g.Expect(answer.Header.Get("Grpc-Status")).To(Equal("14"))
		g.Expect(body).To(BeEmpty())
	})
	t.Run("gRPC-Web health gets a frame of trailers", func(t *testing.T) {
		g := NewWithT(t)
		_, body := post(t, "application/grpc-web", "/grpc.health.v1.Health/Check")
		g.Expect(body).To(Equal("\x00\x00\x00\x00\x02\x08\x02\x80\x00\x00\x00\x10grpc-status: 0\r\n"))
		_, body = post(t, "application/grpc-web-text", "/grpc.health.v1.Health/Check")
		g.Expect(body).To(Equal("AAAAAAIIAoAAAAAQZ3JwYy1zdGF0dXM6IDANCg=="))
	})
	t.Run("gRPC proper gets a status of HTTP, which its clients take for UNAVAILABLE", func(t *testing.T) {
		g := NewWithT(t)
		answer, body := post(t, "application/grpc", "/shop.v1.Shop/Buy")
		g.Expect(answer.StatusCode).To(Equal(503))
		g.Expect(strings.Contains(body, "Der Laden")).To(BeTrue())
	})
}
