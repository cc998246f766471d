package checks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/application"
	"github.com/critical-service/operator/test/scorecard/world"
)

const (
	applicationIP = "10.1.0.1"
	responderIP   = "10.1.0.2"
)

// understudy plays, in one namespace, what the tests exercise and need: Pods of Deployments, the operator,
// and the network. It plays the operator as badly as configured.
type understudy struct {
	namespace string

	// absent: the operator does nothing at all.
	absent bool
	// elsewhere: the operator looks at other namespaces only.
	elsewhere bool
	// mute: the operator cannot write EndpointSlices, and says so.
	mute bool
	// boasting: the operator says that all is well, and writes no EndpointSlice.
	boasting bool
	// astray: the operator publishes the address of a stranger.
	astray bool
	// slow: the operator never promotes.
	slow bool
	// clinging: the operator never demotes.
	clinging bool
	// messy: the operator leaves its slice and its ConfigMap behind.
	messy bool
	// lax: the responder's template does not conform to Pod Security restricted.
	lax bool
	// silent: the fallback does not answer, though it is published.
	silent bool

	// promoted is written by the operator, and read by each request.
	promoted *atomic.Bool
}

// play begins, and ends with the test.
func (u *understudy) play(t *testing.T) {
	t.Helper()
	u.promoted = new(atomic.Bool)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			// What does not succeed is tried again: others change the same objects.
			_ = errors.Join(u.runApplications(ctx), u.operate(ctx))
		}, 20*time.Millisecond)
	}()
	t.Cleanup(func() { stop(); <-done })
}

// runApplications does what Kubernetes does for Deployments of one Pod.
func (u *understudy) runApplications(ctx context.Context) error {
	var deployments appsv1.DeploymentList
	if err := admin.List(ctx, &deployments, client.InNamespace(u.namespace)); err != nil {
		return err
	}
	for _, deployment := range deployments.Items {
		if deployment.Name == criticalv2.ResponderName {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: *deployment.Spec.Template.ObjectMeta.DeepCopy(), Spec: deployment.Spec.Template.Spec}
		pod.Namespace, pod.Name = u.namespace, deployment.Name
		var err error
		if *deployment.Spec.Replicas == 0 {
			err = client.IgnoreNotFound(admin.Delete(ctx, pod, client.GracePeriodSeconds(0)))
		} else {
			err = ready(ctx, pod, applicationIP)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ready makes a Pod that is ready. It may have come only half of the way the time before.
func ready(ctx context.Context, pod *corev1.Pod, address string) error {
	if err := client.IgnoreAlreadyExists(admin.Create(ctx, pod.DeepCopy())); err != nil {
		return err
	}
	before := pod.DeepCopy()
	becomeReady(pod, address)
	return admin.Status().Patch(ctx, pod, client.MergeFrom(before))
}

// operate does what the operator does.
func (u *understudy) operate(ctx context.Context) error {
	if u.absent {
		return nil
	}
	var policies criticalv2.CriticalServiceList
	if err := admin.List(ctx, &policies, client.MatchingLabels{world.Label: u.namespace}); err != nil {
		return err
	}
	if len(policies.Items) == 0 {
		return u.leave(ctx)
	}
	for _, policy := range policies.Items {
		var services corev1.ServiceList
		selector := labels.SelectorFromSet(policy.Spec.ServiceSelector.MatchLabels)
		if err := admin.List(ctx, &services, client.InNamespace(u.namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return err
		}
		for _, service := range services.Items {
			if err := u.protect(ctx, &policy, &service); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *understudy) protect(ctx context.Context, policy *criticalv2.CriticalService, service *corev1.Service) error {
	if u.elsewhere {
		return u.say(ctx, policy, nil, metav1.Condition{
			Type: criticalv2.ConditionReady, Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonNamespaceNotWatched,
			Message: "NAMESPACES names others.",
		})
	}
	if err := u.respond(ctx); err != nil {
		return err
	}
	down, err := u.down(ctx, service.Name)
	if err != nil {
		return err
	}
	u.promoted.Store(down && !u.slow || u.promoted.Load() && u.clinging)
	detail := criticalv2.ServiceStatus{Namespace: u.namespace, Name: service.Name, State: criticalv2.StateArmed, Reason: criticalv2.ReasonStandbyReady}
	switch {
	case u.mute:
		detail.State, detail.Reason, detail.Message = criticalv2.StateArming, criticalv2.ReasonSlicePending, "endpointslices is forbidden"
	case down:
		detail.State, detail.Reason = criticalv2.StateCovered, criticalv2.ReasonFallbackServing
	}
	if !u.mute && !u.boasting {
		if err := u.publish(ctx, service.Name); err != nil {
			return err
		}
	}
	detail.Since = metav1.Now()
	return u.say(ctx, policy, []criticalv2.ServiceStatus{detail}, metav1.Condition{
		Type: criticalv2.ConditionReady, Status: metav1.ConditionTrue, Reason: criticalv2.ConditionReasonProtected,
	})
}

func (u *understudy) down(ctx context.Context, service string) (bool, error) {
	err := admin.Get(ctx, client.ObjectKey{Namespace: u.namespace, Name: service}, &corev1.Pod{})
	return err != nil, client.IgnoreNotFound(err)
}

// say writes the status.
func (u *understudy) say(ctx context.Context, policy *criticalv2.CriticalService, details []criticalv2.ServiceStatus, ready metav1.Condition) error {
	before := policy.DeepCopy()
	policy.Status.Details = details
	ready.LastTransitionTime = metav1.Now()
	policy.Status.Conditions = []metav1.Condition{ready}
	return admin.Status().Patch(ctx, policy, client.MergeFrom(before))
}

// responder are the objects of the responder, without its Pod.
func (u *understudy) responder() []client.Object {
	meta := func(value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: u.namespace, Name: criticalv2.ResponderName, Labels: map[string]string{criticalv2.LabelResponder: value}}
	}
	deployment := application.Deployment(u.namespace, criticalv2.ResponderName, "registry.example/operator:test")
	deployment.ObjectMeta = meta(criticalv2.ResponderServer)
	if u.lax {
		deployment.Spec.Template.Spec.HostNetwork = true
	}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta(criticalv2.ResponderListeners)}, deployment,
		&policyv1.PodDisruptionBudget{ObjectMeta: meta(criticalv2.ResponderServer)},
	}
}

func (u *understudy) pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.namespace, Name: "fallback",
			Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer, criticalv2.LabelFallbackFor: ""},
		},
		Spec: application.PodSpec("fallback", "registry.example/operator:test"),
	}
}

func (u *understudy) respond(ctx context.Context) error {
	for _, object := range u.responder() {
		if err := client.IgnoreAlreadyExists(admin.Create(ctx, object)); err != nil {
			return err
		}
	}
	return ready(ctx, u.pod(), responderIP)
}

func (u *understudy) slice(service string) *discoveryv1.EndpointSlice {
	address := responderIP
	if u.astray {
		address = "10.9.9.9"
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: service + "-standby-ipv4", Labels: map[string]string{
			discoveryv1.LabelManagedBy: criticalv2.ManagedBy, discoveryv1.LabelServiceName: service,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address},
			Conditions: discoveryv1.EndpointConditions{
				Ready: new(u.promoted.Load()), Serving: new(true), Terminating: new(!u.promoted.Load()),
			},
		}},
	}
}

func (u *understudy) publish(ctx context.Context, service string) error {
	wanted, now := u.slice(service), &discoveryv1.EndpointSlice{}
	if err := admin.Get(ctx, client.ObjectKeyFromObject(wanted), now); err != nil {
		return errors.Join(client.IgnoreNotFound(err), admin.Create(ctx, wanted))
	}
	now.Endpoints = wanted.Endpoints
	return admin.Update(ctx, now)
}

// leave takes everything back.
func (u *understudy) leave(ctx context.Context) error {
	objects := append(u.responder(), u.slice(service), u.pod())
	var failed []error
	for i, object := range objects {
		if _, slice := object.(*discoveryv1.EndpointSlice); u.messy && (slice || i == 0) {
			continue
		}
		failed = append(failed, client.IgnoreNotFound(admin.Delete(ctx, object, client.GracePeriodSeconds(0))))
	}
	return errors.Join(failed...)
}

// RoundTrip implements http.RoundTripper: it answers at the addresses of Services as a cluster would.
func (u *understudy) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	var services corev1.ServiceList
	if err := admin.List(ctx, &services, client.InNamespace(u.namespace)); err != nil {
		return nil, err
	}
	for _, service := range services.Items {
		if service.Spec.ClusterIP != request.URL.Hostname() {
			continue
		}
		down, err := u.down(ctx, service.Name)
		if err != nil {
			return nil, err
		}
		if !down {
			return answer(http.StatusOK, http.Header{application.Header: {service.Name}}, "It works."), nil
		}
		slice := &discoveryv1.EndpointSlice{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(u.slice(service.Name)), slice); err == nil && !u.silent {
			var policy criticalv2.CriticalService
			if err := admin.Get(ctx, client.ObjectKey{Name: u.namespace}, &policy); err != nil {
				return nil, err
			}
			return answer(http.StatusServiceUnavailable, http.Header{"Retry-After": {"30"}}, policy.Spec.Fallback.Page.Message), nil
		}
	}
	return nil, fmt.Errorf("dial tcp %s: connection refused", request.URL.Host)
}

func answer(status int, header http.Header, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: header,
		Body: io.NopCloser(bytes.NewBufferString(body)),
	}
}
