// Package members reaches ETCDInstances and their members, for what the API server serves of them.
package members

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/etcd"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/wire"
	"github.com/critical-service/operator/workloads/internal/etcdclient"
)

const (
	// patience is how long one member may take for its first answer.
	patience = 5 * time.Second
	// maxAnswer bounds the bytes of one message of a member, which may be any Pod of a tenant: it is
	// held in memory whole. etcd sends a snapshot in messages of 32 KiB.
	maxAnswer = 1 << 20
)

// Members finds the members of instances.
type Members struct {
	// Reader reads ETCDInstances, and the certificates of their clients. It asks the API server: a
	// backup is rare, and who is healthy changes.
	Reader client.Reader
	// Address is where a member is; nil is by its name in the cluster.
	Address func(instance *workloadsv1alpha1.ETCDInstance, member string) string
	// Receives is where a Pod receives a snapshot; nil is by its address.
	Receives func(pod *corev1.Pod) string
	// Stall is how long a member, or a Pod that receives, may send or take nothing; 0 is as long as a client.
	Stall time.Duration
}

var _ backup.Source = &Members{}

// +kubebuilder:rbac:groups=mycrd.com,resources=etcdinstances,verbs=get,roleName=critical-service-workloads-namespaces

// Open asks a member for a snapshot that has all that was acknowledged before.
func (m *Members) Open(ctx context.Context, name types.NamespacedName) (*backup.Snapshot, error) {
	instance, err := read(ctx, m.Reader, name)
	if err != nil {
		return nil, err
	}
	candidates := askable(instance.Status.Members)
	if len(candidates) == 0 {
		return nil, notReady(instance)
	}
	config, err := m.credentials(ctx, instance)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, member := range candidates {
		opened, err := m.open(ctx, instance, member, config)
		if err == nil {
			return opened, nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", member, err))
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no member of ETCDInstance %s can send a snapshot now: %v", name, errors.Join(failed...)))
}

// read reads an instance. The error is what a user is shown.
func read(ctx context.Context, from client.Reader, name types.NamespacedName) (*workloadsv1alpha1.ETCDInstance, error) {
	instance := &workloadsv1alpha1.ETCDInstance{}
	err := from.Get(ctx, name, instance)
	switch {
	case apierrors.IsNotFound(err):
		return nil, apierrors.NewNotFound(etcd.Resource.GroupResource(), name.Name)
	case err != nil:
		return nil, fmt.Errorf("read ETCDInstance %s: %w", name, err)
	}
	return instance, nil
}

// askable are the members that can be asked, the leader last: it has enough to do.
func askable(members []workloadsv1alpha1.ETCDMember) []string {
	var followers, leader []string
	for i := range members {
		switch member := &members[i]; {
		case !member.Healthy || member.Learner:
		case member.Leader:
			leader = append(leader, member.Name)
		default:
			followers = append(followers, member.Name)
		}
	}
	return slices.Concat(followers, leader)
}

// notReady is that an instance has no member to ask.
func notReady(instance *workloadsv1alpha1.ETCDInstance) error {
	name := instance.Namespace + "/" + instance.Name
	if state := instance.Status.State; state == workloadsv1alpha1.ETCDNone || state == workloadsv1alpha1.ETCDDeploying {
		return apierrors.NewConflict(etcd.Resource.GroupResource(), instance.Name,
			fmt.Errorf("ETCDInstance %s has no healthy member yet, so that there is nothing to back up: wait until its state is running", name))
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("ETCDInstance %s has no healthy member: `kubectl describe etcd %s -n %s` says why",
		name, instance.Name, instance.Namespace))
}

// open asks one member. It answers a read first, for which it must have applied all that was
// acknowledged before: a member may lag, and its snapshot with it.
func (m *Members) open(ctx context.Context, instance *workloadsv1alpha1.ETCDInstance, member string, config *tls.Config) (*backup.Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	connection, err := etcdclient.New(ctx, etcdclient.Endpoint{URL: m.address(instance, member), TLS: config, Timeout: patience, MaxAnswer: maxAnswer})
	if err != nil {
		cancel()
		return nil, err
	}
	end := func() error { cancel(); return connection.Close() }
	revision, err := reached(ctx, connection)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	begun := time.AfterFunc(m.stall(), cancel)
	response, err := connection.SnapshotWithVersion(ctx)
	begun.Stop()
	if err != nil {
		return nil, errors.Join(err, end())
	}
	opened := &stream{from: response.Snapshot, stall: m.stall(), cancel: cancel, end: end}
	return &backup.Snapshot{ReadCloser: opened, Revision: revision, Member: member, UID: instance.UID}, nil
}

// reached is the revision that a member has reached, by a read that counts one key.
func reached(ctx context.Context, from *clientv3.Client) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	response, err := from.Get(ctx, "\x00", clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return response.Header.Revision, nil
}

func (m *Members) address(instance *workloadsv1alpha1.ETCDInstance, member string) string {
	if m.Address != nil {
		return m.Address(instance, member)
	}
	return instance.ClientURL(member)
}

func (m *Members) stall() time.Duration { return cmp.Or(m.Stall, wire.Stall) }

// stream is a snapshot with the connection that it comes by. It ends when the member sends nothing.
type stream struct {
	from   io.ReadCloser
	stall  time.Duration
	cancel context.CancelFunc
	end    func() error
}

func (s *stream) Read(p []byte) (int, error) {
	stalled := time.AfterFunc(s.stall, s.cancel)
	read, err := s.from.Read(p)
	if !stalled.Stop() && err != nil {
		return read, fmt.Errorf("it sent nothing for %s: %w", s.stall, err)
	}
	return read, err
}

// Close ends the connection.
func (s *stream) Close() error { return errors.Join(s.from.Close(), s.end()) }

// credentials are those of a client of the instance; nil if it wants none.
func (m *Members) credentials(ctx context.Context, instance *workloadsv1alpha1.ETCDInstance) (*tls.Config, error) {
	if !instance.Spec.WithTLSBundle {
		return nil, nil //nolint:nilnil // No credentials are a valid answer.
	}
	var secret corev1.Secret
	key := types.NamespacedName{Namespace: instance.Namespace, Name: instance.ClientSecretName()}
	if err := m.Reader.Get(ctx, key, &secret); err != nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("the certificate for clients of ETCDInstance %s/%s cannot be read: %v",
			instance.Namespace, instance.Name, err))
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("Secret %s has no certificate with its key: %v", key, err))
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("Secret %s has no authority in ca.crt", key))
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}
