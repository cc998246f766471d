package members

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/etcd"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver/restore"
	"github.com/critical-service/operator/workloads/internal/transfer"
)

const (
	// judged is how long the Pod may take for its answer, after it has all.
	judged = 5 * time.Minute
	// mostWords is how many bytes of its answer are read.
	mostWords = 512
)

var _ restore.Target = &Members{}

// +kubebuilder:rbac:groups="",resources=pods,verbs=get,roleName=critical-service-workloads-namespaces

// Receiver is the Pod of an instance that waits for a snapshot.
func (m *Members) Receiver(ctx context.Context, name types.NamespacedName) (restore.Receiver, error) {
	instance, err := read(ctx, m.Reader, name)
	if err != nil {
		return nil, err
	}
	if reason := waits(instance); reason != "" {
		return nil, takesNone(instance, reason)
	}
	var pod corev1.Pod
	key := types.NamespacedName{Namespace: instance.Namespace, Name: instance.RestorePodName()}
	if err := m.Reader.Get(ctx, key, &pod); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read Pod %s: %w", key, err)
	}
	if !metav1.IsControlledBy(&pod, instance) || pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
		return nil, takesNone(instance, fmt.Sprintf("its Pod %s does not run; retry", key))
	}
	config, err := m.credentials(ctx, instance)
	if err != nil {
		return nil, err
	}
	url := instance.Scheme() + "://" + m.receiver(&pod) + transfer.Path
	return func(ctx context.Context, snapshot io.Reader) error {
		return send(ctx, url, config, instance, snapshot, m.stall())
	}, nil
}

// waits is why an instance does not wait for a snapshot; empty if it does.
func waits(instance *workloadsv1alpha1.ETCDInstance) string {
	if instance.Spec.Restore == nil || !instance.Spec.Restore.Upload {
		return "data is restored only into one that is made with spec.restore.upload: true, by `kubectl critsvc etcd restore` for example"
	}
	switch restored := meta.FindStatusCondition(instance.Status.Conditions, workloadsv1alpha1.ConditionRestored); {
	case restored == nil:
		return "it does not wait for one yet; retry"
	case restored.Status == metav1.ConditionTrue:
		return "its data is restored already; create another ETCDInstance"
	case restored.Reason != workloadsv1alpha1.ReasonWaitingForUpload:
		return "it does not wait for one now: " + restored.Message
	}
	return ""
}

func takesNone(instance *workloadsv1alpha1.ETCDInstance, reason string) error {
	return apierrors.NewConflict(etcd.Resource.GroupResource(), instance.Name,
		fmt.Errorf("ETCDInstance %s/%s takes no snapshot: %s", instance.Namespace, instance.Name, reason))
}

func (m *Members) receiver(pod *corev1.Pod) string {
	if m.Receives != nil {
		return m.Receives(pod)
	}
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(workloadsv1alpha1.PortRestore)))
}

// send sends a snapshot to a Pod. Its certificate is that of a member.
func send(ctx context.Context, url string, config *tls.Config, instance *workloadsv1alpha1.ETCDInstance, snapshot io.Reader, stall time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if config != nil {
		config.ServerName = fmt.Sprintf("%s.%s.svc", instance.Name, instance.Namespace)
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			to, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
			return &impatient{Conn: to, stall: stall}, err
		},
		TLSClientConfig: config, TLSHandshakeTimeout: patience,
		ResponseHeaderTimeout: judged, DisableKeepAlives: true, WriteBufferSize: etcd.Chunk,
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, snapshot)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return didNotTake(instance, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		return nil
	}
	defer time.AfterFunc(stall, cancel).Stop()
	words, err := io.ReadAll(io.LimitReader(answer.Body, mostWords))
	return didNotTake(instance, errors.Join(fmt.Errorf("it answered %d %q", answer.StatusCode, bytes.TrimSpace(words)), err))
}

// impatient is a connection to a Pod that has to take what is sent.
type impatient struct {
	net.Conn
	stall time.Duration
}

func (i *impatient) Write(p []byte) (int, error) {
	if err := i.SetWriteDeadline(time.Now().Add(i.stall)); err != nil {
		return 0, err
	}
	return i.Conn.Write(p)
}

func didNotTake(instance *workloadsv1alpha1.ETCDInstance, err error) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("the Pod that restores ETCDInstance %s/%s did not take the snapshot: %v; retry",
		instance.Namespace, instance.Name, err))
}
