package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/tunnel"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
)

const (
	webhookName = "critical-service-webhook"
	webhookPort = "webhook"
)

// installation reads what all Services share.
func (c *collector) installation(ctx context.Context, w *checkup.World) {
	w.ServerVersion = c.serverVersion()
	w.WindowsNodes = c.windowsNodes(ctx)
	w.APIs = c.apis(ctx)
	w.Definition = c.definition(ctx, installation.Definition)
	for _, name := range teamDefinitions {
		if c.definition(ctx, name).Missing {
			w.Undefined = append(w.Undefined, name)
		}
	}
	w.Operators = c.operators(ctx)
	var hook admissionregistrationv1.ValidatingWebhookConfiguration
	w.Webhook = reading(&hook, c.Get(ctx, client.ObjectKey{Name: webhookName}, &hook))
	if len(w.Operators.Value) == 0 {
		w.Needs.Missing, w.Served.Missing = w.Operators.Problem == "", true
		w.Needs.Problem = w.Operators.Problem
		return
	}
	operator := &w.Operators.Value[0]
	w.Settings = c.settings(ctx, operator)
	w.Needs = c.needs(ctx, operator)
	w.Served = c.served(ctx, w, operator)
}

func (c *collector) serverVersion() checkup.Reading[string] {
	versions, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return reading("", err)
	}
	info, err := versions.ServerVersion()
	if err != nil {
		return reading("", err)
	}
	return reading(info.GitVersion, nil)
}

func (c *collector) windowsNodes(ctx context.Context) checkup.Reading[int] {
	var nodes metav1.PartialObjectMetadataList
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	err := c.List(ctx, &nodes, client.MatchingLabels{corev1.LabelOSStable: string(corev1.Windows)})
	return reading(len(nodes.Items), err)
}

// teamDefinitions are the CustomResourceDefinitions of the kinds of teams.
var teamDefinitions = []string{"servicefallbacks.mycrd.com", "maintenances.mycrd.com"}

// definition reads a CustomResourceDefinition, of which the plugin's client has no type.
func (c *collector) definition(ctx context.Context, name string) checkup.Reading[*apiextensionsv1.CustomResourceDefinition] {
	var raw unstructured.Unstructured
	raw.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, &raw)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, crd)
	}
	return reading(crd, err)
}

// operators finds the operator's Deployment where the installation has it.
func (c *collector) operators(ctx context.Context) checkup.Reading[[]appsv1.Deployment] {
	_, found, err := installation.Find(ctx, c)
	return reading(found, err)
}

// settings are those of the operator's container, by its variables, so far as they
// can be read.
func (c *collector) settings(ctx context.Context, operator *appsv1.Deployment) map[string]string {
	settings := map[string]string{}
	containers := operator.Spec.Template.Spec.Containers
	at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == installation.Container })
	if at < 0 {
		return settings
	}
	for _, source := range containers[at].EnvFrom {
		if source.ConfigMapRef == nil {
			continue
		}
		var values corev1.ConfigMap
		// Where it cannot be read, the defaults are taken for true.
		_ = c.Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: source.ConfigMapRef.Name}, &values)
		for key, value := range values.Data {
			settings[source.Prefix+key] = value
		}
	}
	for _, variable := range containers[at].Env {
		if variable.ValueFrom == nil {
			settings[variable.Name] = variable.Value
		}
	}
	return settings
}

// needs asks the API server whether the operator may do what it must.
func (c *collector) needs(ctx context.Context, operator *appsv1.Deployment) checkup.Reading[[]checkup.Need] {
	needs := checkup.Needs(operator.Namespace)
	account := cmp.Or(operator.Spec.Template.Spec.ServiceAccountName, "default")
	problems := make([]error, len(needs))
	each(len(needs), func(i int) {
		need := &needs[i]
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   fmt.Sprintf("system:serviceaccount:%s:%s", operator.Namespace, account),
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + operator.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: need.Verb, Group: need.Group, Resource: need.Resource, Subresource: need.Subresource, Name: need.Name, Namespace: need.Namespace,
			},
		}}
		problems[i] = c.Create(ctx, review)
		need.Allowed = review.Status.Allowed
	})
	for _, problem := range problems {
		if problem != nil {
			return checkup.Reading[[]checkup.Need]{Problem: problem.Error()} // The others say the same.
		}
	}
	return reading(needs, nil)
}

// each runs a function for every index, some at once.
func each(count int, do func(i int)) {
	var running sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i := range count {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			do(i)
		})
	}
	running.Wait()
}

// served reads the certificate of the operator's webhook, as the API server does.
func (c *collector) served(ctx context.Context, w *checkup.World, operator *appsv1.Deployment) checkup.Reading[checkup.Certificate] {
	if w.Definition.Value == nil || w.Definition.Value.Spec.Conversion == nil || w.Definition.Value.Spec.Conversion.Webhook == nil {
		return checkup.Reading[checkup.Certificate]{Missing: true}
	}
	target := w.Definition.Value.Spec.Conversion.Webhook.ClientConfig
	if target == nil || target.Service == nil {
		return checkup.Reading[checkup.Certificate]{Missing: true}
	}
	pod, port, err := c.webhookPod(ctx, operator)
	if err != nil {
		return checkup.Reading[checkup.Certificate]{Problem: err.Error()}
	}
	through, err := tunnel.Open(c.config, client.ObjectKeyFromObject(pod))
	if err != nil {
		return checkup.Reading[checkup.Certificate]{Problem: err.Error()}
	}
	defer func() { _ = through.Close() }()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := through.Dial(ctx, port)
	if err != nil {
		return checkup.Reading[checkup.Certificate]{Problem: err.Error()}
	}
	defer func() { _ = conn.Close() }()
	chain, err := handshake(ctx, conn)
	if err != nil {
		return checkup.Reading[checkup.Certificate]{Problem: err.Error()}
	}
	return reading(verify(chain, target.CABundle, target.Service.Name+"."+target.Service.Namespace+".svc"), nil)
}

func (c *collector) webhookPod(ctx context.Context, operator *appsv1.Deployment) (pod *corev1.Pod, port int32, err error) {
	selector, err := metav1.LabelSelectorAsSelector(operator.Spec.Selector)
	if err != nil {
		return nil, 0, err
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(operator.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, 0, err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		for _, container := range pod.Spec.Containers {
			for _, port := range container.Ports {
				if port.Name == webhookPort {
					return pod, port.ContainerPort, nil
				}
			}
		}
	}
	return nil, 0, errors.New("no Pod of the operator runs")
}

func handshake(ctx context.Context, conn net.Conn) ([]*x509.Certificate, error) {
	// The chain is verified afterwards, so that one that is not trusted is reported.
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // See above.
	if err := client.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake with the operator's webhook: %w", err)
	}
	return client.ConnectionState().PeerCertificates, nil
}

// verify verifies a chain as the API server would.
func verify(chain []*x509.Certificate, bundle []byte, name string) checkup.Certificate {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	shown := checkup.Certificate{NotAfter: chain[0].NotAfter}
	if _, err := chain[0].Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: intermediates}); err != nil {
		shown.Untrusted = err.Error()
	}
	return shown
}

// mayCreatePods asks whether the user may, so that a refusal by admission is not taken
// for a missing permission.
func (c *collector) mayCreatePods(ctx context.Context, namespace string) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Namespace: namespace},
	}}
	if err := c.Create(ctx, review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("you may not create pods"))
	}
	return nil
}
