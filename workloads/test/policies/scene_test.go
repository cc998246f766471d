package policies_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// scene is a namespace with what an attacker goes for.
type scene struct {
	*WithT
	thief     client.Client
	namespace string
	// What is theirs is of a team, and what is ours is as the operator makes it.
	theirPod, ourPod           *corev1.Pod
	theirSecret, ourSecret     *corev1.Secret
	theirService, ourService   *corev1.Service
	theirClaim, ourClaim       *corev1.PersistentVolumeClaim
	theirConfig, ourConfig     *corev1.ConfigMap
	theirBudget                *policyv1.PodDisruptionBudget
	theirFallback              *criticalv2.ServiceFallback
	theirDatabase, ourDatabase *workloadsv1.Database
	etcd                       *workloadsv1alpha1.ETCDInstance
	ingress                    *networkingv1.Ingress
	// subscriber is a Deployment of a team that takes the settings of an AppConfig, as does crowded, with many containers.
	theirDeployment, subscriber, crowded, ourDeployment *appsv1.Deployment
}

func newScene(t *testing.T) *scene {
	t.Helper()
	cluster.Since(t, testenv.PoliciesSince, "ValidatingAdmissionPolicies")
	w := cluster.NewWorld(t)
	s := &scene{WithT: w.WithT, thief: stolen(w), namespace: w.Namespace}
	s.theirPod = &corev1.Pod{ObjectMeta: s.theirs("their-pod"), Spec: testenv.PodSpec()}
	s.ourPod = s.pod("our-pod")
	s.theirSecret = &corev1.Secret{ObjectMeta: s.theirs("theirs")}
	s.ourSecret = &corev1.Secret{ObjectMeta: s.ours("ours", "Database")}
	s.theirService = service(s.theirs("theirs"))
	s.ourService = service(s.ours("ours", "WebApp"))
	s.theirClaim, s.ourClaim = claim(s.theirs("theirs")), claim(s.ours("ours", ""))
	s.theirConfig = &corev1.ConfigMap{ObjectMeta: s.theirs("theirs")}
	s.ourConfig = &corev1.ConfigMap{ObjectMeta: s.ours("ours", "AppConfig")}
	s.theirBudget = budget(s.theirs("theirs"), workloadsv1.LabelWebApp)
	s.theirFallback = fallback(s.theirs("theirs"))
	s.theirDatabase, s.ourDatabase = database(s.theirs("theirs")), database(s.ours("ours", "WebApp"))
	s.etcd = &workloadsv1alpha1.ETCDInstance{ObjectMeta: s.theirs("theirs"), Spec: workloadsv1alpha1.ETCDInstanceSpec{Replicas: 3}}
	s.ingress = &networkingv1.Ingress{ObjectMeta: s.theirs("theirs"), Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
		Service: &networkingv1.IngressServiceBackend{Name: "theirs", Port: networkingv1.ServiceBackendPort{Number: 80}},
	}}}
	s.theirDeployment = deployment(s.theirs("theirs"), testenv.PodSpec())
	s.subscriber = deployment(s.theirs("subscriber"), testenv.PodSpec())
	s.subscriber.Labels = map[string]string{workloadsv2.LabelAppConfig: "shop"}
	s.crowded = deployment(s.theirs("crowded"), crowd())
	s.crowded.Labels = s.subscriber.Labels
	s.ourDeployment = deployment(s.ours("ours", "WebApp"), hardened())
	for _, object := range []client.Object{
		s.theirPod, s.ourPod, s.theirSecret, s.ourSecret, s.theirService, s.ourService, s.theirClaim, s.ourClaim, s.theirConfig, s.ourConfig,
		s.theirBudget, s.theirFallback, s.theirDatabase, s.ourDatabase, s.etcd, s.ingress, s.theirDeployment, s.subscriber, s.crowded, s.ourDeployment,
	} {
		s.Expect(cluster.Client.Create(t.Context(), object)).To(Succeed())
	}
	return s
}

// theirs is the metadata of an object of a team.
func (s *scene) theirs(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

// labelled has the operator's label, and no owner.
func (s *scene) labelled(name string) metav1.ObjectMeta { return s.ours(name, "") }

// ours is the metadata of an object that the operator made for one of a kind.
func (s *scene) ours(name, kind string) metav1.ObjectMeta {
	meta := s.theirs(name)
	meta.Labels = map[string]string{workloadsv1.LabelManagedBy: workloadsv1.ManagedBy}
	if kind != "" {
		meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "mycrd.com/v1", Kind: kind, Name: "shop", UID: "1", Controller: new(true)}}
	}
	return meta
}

// pod is one as the operator makes it, but for the changes.
func (s *scene) pod(name string, changes ...func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: s.ours(name, "Database"), Spec: hardened()}
	for _, change := range changes {
		change(&pod.Spec)
	}
	return pod
}

// hardened is a Pod without a token, privileges and anything of its node.
func hardened() corev1.PodSpec {
	spec := testenv.PodSpec()
	spec.AutomountServiceAccountToken = new(false)
	spec.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	return spec
}

// crowd has more containers than Pods have: what a policy may cost is limited.
func crowd() corev1.PodSpec {
	spec := testenv.PodSpec()
	for number := range 150 {
		container := *spec.Containers[0].DeepCopy()
		container.Name, container.Ports = fmt.Sprintf("more-%d", number), nil
		for variable := range 20 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", variable), Value: "value"})
		}
		spec.Containers = append(spec.Containers, container)
	}
	return spec
}

func deployment(meta metav1.ObjectMeta, spec corev1.PodSpec) *appsv1.Deployment {
	labels := map[string]string{"app": meta.Name}
	if meta.Labels != nil {
		labels = map[string]string{workloadsv1.LabelWebApp: meta.Name}
	}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
}

func statefulSet(meta metav1.ObjectMeta, spec corev1.PodSpec) *appsv1.StatefulSet {
	labels := map[string]string{workloadsv1alpha1.LabelETCDInstance: meta.Name}
	return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
}

func service(meta metav1.ObjectMeta) *corev1.Service {
	return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
}

func claim(meta metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
	made := &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	made.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	made.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return made
}

// budget lets no Pod with a label be evicted.
func budget(meta metav1.ObjectMeta, label string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "shop"}},
	}}
}

func fallback(meta metav1.ObjectMeta) *criticalv2.ServiceFallback {
	made := &criticalv2.ServiceFallback{ObjectMeta: meta}
	made.Spec.Services = []string{"shop"}
	made.Spec.Fallback.Page = &criticalv2.PageFallback{}
	return made
}

func database(meta metav1.ObjectMeta) *workloadsv1.Database {
	return &workloadsv1.Database{ObjectMeta: meta, Spec: workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo}}
}

func (s *scene) create(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func (s *scene) delete(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return s.thief.Delete(ctx, object, client.DryRunAll) }
}

// patch changes an object as a strategic merge patch does.
func (s *scene) patch(object client.Object, patch string) func(context.Context) error {
	return s.send(object, types.StrategicMergePatchType, patch)
}

// merge changes an object of a kind that was defined.
func (s *scene) merge(object client.Object, patch string) func(context.Context) error {
	return s.send(object, types.MergePatchType, patch)
}

func (s *scene) send(object client.Object, by types.PatchType, patch string) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(by, []byte(patch)), client.DryRunAll)
	}
}

// status changes the status of an object of a kind that was defined.
func (s *scene) status(object client.Object, patch string) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Status().Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
}

// scale changes how many Pods a Deployment has.
func (s *scene) scale(object *appsv1.Deployment) func(context.Context) error {
	return func(ctx context.Context) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
		body := client.WithSubResourceBody(&autoscalingv1.Scale{})
		return s.thief.SubResource("scale").Patch(ctx, object.DeepCopy(), patch, body, client.DryRunAll)
	}
}
