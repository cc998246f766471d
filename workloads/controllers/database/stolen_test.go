package database_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// scene is a namespace with what an attacker with the operator's credentials goes for.
type scene struct {
	*WithT
	thief     client.Client
	namespace string
	// What is theirs is of others; what is ours looks as if the operator had made it.
	pod, ourPod         *corev1.Pod
	secret              *corev1.Secret
	service             *corev1.Service
	workload, ourOwnOne *appsv1.Deployment
}

func newScene(t *testing.T) *scene {
	t.Helper()
	cluster.Since(t, testenv.PoliciesSince, "ValidatingAdmissionPolicies")
	w := cluster.NewWorld(t)
	config, err := clientcmd.RESTConfigFromKubeConfig(cluster.OperatorKubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	s := &scene{WithT: w.WithT, namespace: w.Namespace}
	s.thief, err = client.New(config, client.Options{Scheme: cluster.Client.Scheme()})
	w.Expect(err).NotTo(HaveOccurred())
	s.pod = &corev1.Pod{ObjectMeta: s.meta("theirs"), Spec: testenv.PodSpec()}
	s.ourPod = &corev1.Pod{ObjectMeta: s.ours("ours"), Spec: hardened()}
	s.secret = &corev1.Secret{ObjectMeta: s.meta("theirs")}
	s.service = &corev1.Service{ObjectMeta: s.meta("theirs"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	s.workload = deployment(s.meta("theirs"), testenv.PodSpec())
	s.ourOwnOne = deployment(s.ours("ours"), hardened())
	for _, object := range []client.Object{s.pod, s.ourPod, s.secret, s.service, s.workload, s.ourOwnOne} {
		w.Expect(cluster.Client.Create(t.Context(), object)).To(Succeed())
	}
	return s
}

func (s *scene) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

// ours is the metadata of an object of the operator.
func (s *scene) ours(name string) metav1.ObjectMeta {
	meta := s.meta(name)
	meta.Labels = map[string]string{workloadsv1.LabelManagedBy: workloadsv1.ManagedBy}
	return meta
}

func hardened() corev1.PodSpec {
	spec := testenv.PodSpec()
	spec.AutomountServiceAccountToken = new(false)
	return spec
}

func deployment(meta metav1.ObjectMeta, spec corev1.PodSpec) *appsv1.Deployment {
	labels := map[string]string{"app": meta.Name}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
}

func (s *scene) create(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func (s *scene) delete(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return s.thief.Delete(ctx, object, client.DryRunAll) }
}

func (s *scene) patch(object client.Object, patch string) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.DryRunAll)
	}
}

// with is a Pod with the operator's label, that is changed.
func (s *scene) with(change func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: s.ours("evil"), Spec: hardened()}
	change(&pod.Spec)
	return pod
}

// Every attempt is one that the operator's roles allow.
func TestWhatAStolenTokenIsDenied(t *testing.T) {
	s := newScene(t)
	const theirs, kept, noToken, onlyEnv = "changes and deletes only objects", "makes and keeps only objects", "have no token", "changes only the envFrom"
	withAccount := func(p *corev1.PodSpec) { p.ServiceAccountName = "admin" }
	ofOurs := deployment(s.ours("evil"), hardened())
	withAccount(&ofOurs.Spec.Template.Spec)
	for name, attempt := range map[string]struct {
		do   func(context.Context) error
		says string
	}{
		"to delete a Pod of others":                 {s.delete(s.pod), theirs},
		"to change the image of a Pod of others":    {s.patch(s.pod, `{"spec":{"containers":[{"name":"web","image":"evil"}]}}`), "the operator"},
		"to change the image of a Pod of its own":   {s.patch(s.ourPod, `{"spec":{"containers":[{"name":"web","image":"evil"}]}}`), "changes nothing in a Pod's spec"},
		"to change a Secret of others":              {s.patch(s.secret, `{"data":{"password":"ZXZpbA=="}}`), kept},
		"to take over a Secret of others":           {s.patch(s.secret, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"critical-service-workloads"}}}`), theirs},
		"to send a Service of others elsewhere":     {s.patch(s.service, `{"spec":{"selector":{"app":"evil"}}}`), kept},
		"to make a Pod without its label":           {s.create(&corev1.Pod{ObjectMeta: s.meta("evil"), Spec: hardened()}), kept},
		"to make a Secret without its label":        {s.create(&corev1.Secret{ObjectMeta: s.meta("evil")}), kept},
		"to make a Pod with a token":                {s.create(s.with(func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil })), noToken},
		"to make a Pod of another account":          {s.create(s.with(withAccount)), noToken},
		"to make a Deployment of another account":   {s.create(ofOurs), noToken},
		"to give its Deployment another account":    {s.patch(s.ourOwnOne, `{"spec":{"template":{"spec":{"serviceAccountName":"admin"}}}}`), noToken},
		"to make a Pod in the net of the node":      {s.create(s.with(func(p *corev1.PodSpec) { p.HostNetwork = true })), "nothing of their node"},
		"to change the image of a workload":         {s.patch(s.workload, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"evil"}]}}}}`), onlyEnv},
		"to give a workload another account":        {s.patch(s.workload, `{"spec":{"template":{"spec":{"serviceAccountName":"admin"}}}}`), onlyEnv},
		"to scale a workload by its spec":           {s.patch(s.workload, `{"spec":{"replicas":0}}`), onlyEnv},
		"to give a workload a Secret":               {s.patch(s.workload, `{"spec":{"template":{"spec":{"containers":[{"name":"web","envFrom":[{"secretRef":{"name":"theirs"}}]}]}}}}`), onlyEnv},
		"to make a workload of others look as ours": {s.patch(s.workload, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"critical-service-workloads"}}}`), onlyEnv},
		"to make a token of another account": {s.create(&corev1.Secret{ObjectMeta: func() metav1.ObjectMeta {
			meta := s.ours("evil")
			meta.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
			return meta
		}(), Type: corev1.SecretTypeServiceAccountToken}), "makes no token"},
	} {
		t.Run(name, func(t *testing.T) {
			// A policy works some moments after it was made.
			NewWithT(t).Eventually(func() error { return attempt.do(t.Context()) }).WithTimeout(time.Minute).Should(MatchError(ContainSubstring(attempt.says)))
		})
	}
	s.Expect(s.patch(s.workload, `{"spec":{"template":{"spec":{"containers":[{"name":"web","envFrom":[{"configMapRef":{"name":"settings"}}]}]}}}}`)(t.Context())).
		To(Succeed(), "the settings of an AppConfig")
	s.Expect(s.delete(s.ourPod)(t.Context())).To(Succeed(), "a Pod of its own")
}
