package appconfig

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
)

// takes are variables from a ConfigMap, as the operator sets them.
func takes(configMap string) []corev1.EnvFromSource {
	return []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}}}
}

// setBy says who has set envFrom of a container.
func setBy(manager string, operation metav1.ManagedFieldsOperationType, container string) metav1.ManagedFieldsEntry {
	fields := fmt.Sprintf(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"%s\"}":{".":{},"f:envFrom":{}}}}}}}`, container)
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func deployment(change func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "web", Name: "storefront", UID: "1", Generation: 2,
			Labels: map[string]string{workloadsv2.LabelAppConfig: "shop", "team": "web"}, Annotations: map[string]string{"note": strings.Repeat("x", 9000)},
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3},
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "shop:1"}, {Name: "sidecar"}}
	if change != nil {
		change(d)
	}
	return d
}

func slimmed(g Gomega, object client.Object) client.Object {
	slim, err := slimWorkload(object)
	g.Expect(err).NotTo(HaveOccurred())
	return slim.(client.Object)
}

func TestWhatIsSeenOfAWorkload(t *testing.T) {
	const us = workloadsv1.ManagedBy
	for sentence, test := range map[string]struct {
		change                        func(*appsv1.Deployment)
		container, configMap, manager string
	}{
		"the first container takes the settings": {nil, "app", "", ""},
		"or the one that kubectl takes for the default": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "sidecar"}
			}, "sidecar", "", "",
		},
		"but not one that there is not": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "gone"}
			}, "app", "", "",
		},
		"what the operator has applied is its own": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].EnvFrom = takes("shop-1")
				d.ManagedFields = []metav1.ManagedFieldsEntry{setBy(us, metav1.ManagedFieldsOperationApply, "app")}
			}, "app", "shop-1", "",
		},
		"what another has applied is not": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].EnvFrom = takes("shop-1")
				d.ManagedFields = []metav1.ManagedFieldsEntry{setBy("helm", metav1.ManagedFieldsOperationUpdate, "app")}
			}, "app", "shop-1", "helm",
		},
		"nor what both have": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].EnvFrom = takes("shop-1")
				d.ManagedFields = []metav1.ManagedFieldsEntry{setBy(us, metav1.ManagedFieldsOperationApply, "app"), setBy("flux", metav1.ManagedFieldsOperationApply, "app")}
			}, "app", "shop-1", "flux",
		},
		"nor what one without a name has": {
			func(d *appsv1.Deployment) {
				d.ManagedFields = []metav1.ManagedFieldsEntry{setBy("", metav1.ManagedFieldsOperationUpdate, "app")}
			}, "app", "", decide.UnknownManager,
		},
		"an update in the operator's name is another's": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].EnvFrom = takes("shop-1")
				d.ManagedFields = []metav1.ManagedFieldsEntry{setBy(us, metav1.ManagedFieldsOperationUpdate, "app")}
			}, "app", "shop-1", us,
		},
		"what another has set in another container does not matter": {
			func(d *appsv1.Deployment) {
				d.ManagedFields = []metav1.ManagedFieldsEntry{setBy("helm", metav1.ManagedFieldsOperationUpdate, "sidecar")}
			}, "app", "", "",
		},
		"variables that the operator does not set are another's, though no one is said to be": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].EnvFrom = append(takes("shop-1"), takes("shop-2")...)
			}, "app", "", decide.UnknownManager,
		},
		"so are those with a prefix": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].EnvFrom = takes("shop-1")
				d.Spec.Template.Spec.Containers[0].EnvFrom[0].Prefix = "SHOP_"
			}, "app", "", decide.UnknownManager,
		},
		"so are those of a Secret": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}}
			}, "app", "", decide.UnknownManager,
		},
		"entries that cannot be read say nothing": {
			func(d *appsv1.Deployment) {
				d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "a"}, {Manager: "b", FieldsV1: metav1.NewFieldsV1("{")}}
			}, "app", "", "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			seen := workloadOf(slimmed(g, deployment(test.change)))
			g.Expect(seen.Container).To(Equal(test.container))
			g.Expect(seen.ConfigMap).To(Equal(test.configMap))
			g.Expect(seen.Manager).To(Equal(test.manager))
			g.Expect(seen.Kind + "/" + seen.Name).To(Equal("Deployment/storefront"))
		})
	}
}

func TestWhenAWorkloadIsRolledOut(t *testing.T) {
	g := NewWithT(t)
	is := func(change func(*appsv1.Deployment)) bool {
		return workloadOf(slimmed(g, deployment(change))).RolledOut
	}
	g.Expect(is(nil)).To(BeTrue())
	g.Expect(is(func(d *appsv1.Deployment) { d.Generation = 3 })).To(BeFalse(), "its controller has not seen the template")
	g.Expect(is(func(d *appsv1.Deployment) { d.Status.Replicas = 4 })).To(BeFalse(), "an old Pod is there")
	g.Expect(is(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 0, 0 })).To(BeTrue())

	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "till", Generation: 1}}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app"}}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 1}
	seen := workloadOf(slimmed(g, set))
	g.Expect(seen.Kind).To(Equal("StatefulSet"))
	g.Expect(seen.RolledOut).To(BeFalse())
}

// What users of a namespace write has no bound, and is not kept.
func TestTheCacheKeepsOnlyWhatDecisionsRead(t *testing.T) {
	g := NewWithT(t)
	large := strings.Repeat("x", 200<<10)
	meta := metav1.ObjectMeta{
		Namespace: "web", Name: "shop", UID: "1", ResourceVersion: "7", Labels: map[string]string{workloadsv2.LabelAppConfig: "shop", "x": large},
		Annotations: map[string]string{"x": large}, Finalizers: []string{large}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: large}},
		OwnerReferences: []metav1.OwnerReference{{Name: large}},
	}
	size := func(object any, err error) int {
		g.Expect(err).NotTo(HaveOccurred())
		return len(fmt.Sprintf("%+v", object))
	}
	app := &workloadsv2.AppConfig{ObjectMeta: meta}
	app.Spec.Configuration.Settings = workloadsv2.Settings{"a": large}
	for i := range 1000 {
		meta.OwnerReferences = append(meta.OwnerReferences, metav1.OwnerReference{Name: large, UID: types.UID(fmt.Sprint(i))})
	}
	config := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": large}, BinaryData: map[string][]byte{"b": []byte(large)}}
	workload := deployment(func(d *appsv1.Deployment) {
		d.ObjectMeta = meta
		d.Spec.Template.Annotations = map[string]string{"x": large}
		d.Spec.Template.Spec.Containers[0].EnvFrom = append(takes(large), takes(large)...)
		d.ManagedFields = append(d.ManagedFields, setBy(large, metav1.ManagedFieldsOperationUpdate, "app"))
	})
	g.Expect(size(slimAppConfig(app))).To(BeNumerically("<", 4000))
	g.Expect(size(slimConfigMap(config))).To(BeNumerically("<", 4000))
	g.Expect(size(slimWorkload(workload))).To(BeNumerically("<", 8000))
	g.Expect(app.Spec.Configuration.Settings).To(HaveLen(1), "the original stays as it is: a converted object may share it")
}

// client-go calls a transform again for an object that it has transformed.
func TestWhatIsTransformedTwiceStaysAsItIs(t *testing.T) {
	g := NewWithT(t)
	app := &workloadsv2.AppConfig{}
	app.Spec.Configuration.Settings = workloadsv2.Settings{"a": "b"}
	workload := deployment(func(d *appsv1.Deployment) {
		d.ManagedFields = append(d.ManagedFields, setBy("helm", metav1.ManagedFieldsOperationUpdate, "app"))
	})
	for object, slim := range map[client.Object]func(any) (any, error){
		app: slimAppConfig, &corev1.ConfigMap{Data: map[string]string{"a": "b"}}: slimConfigMap,
		&corev1.ConfigMap{BinaryData: map[string][]byte{"a": {1}}}: slimConfigMap, workload: slimWorkload,
	} {
		once, err := slim(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slim(once.(client.Object).DeepCopyObject())).To(Equal(once))
	}
}

func TestTheMarksOfTheCacheAreNoKeysThatAUserCanWrite(t *testing.T) {
	for _, key := range []string{annotationHash, annotationManager} {
		NewWithT(t).Expect(validation.IsQualifiedName(key)).NotTo(BeEmpty())
	}
}

func TestWhichChangesOfAWorkloadWakeItsAppConfig(t *testing.T) {
	g := NewWithT(t)
	wakes := func(change func(*appsv1.Deployment)) bool {
		return useChanged.Update(event.UpdateEvent{ObjectOld: slimmed(g, deployment(nil)), ObjectNew: slimmed(g, deployment(change))})
	}
	g.Expect(wakes(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 2, 2 })).To(BeFalse(), "it is scaled")
	g.Expect(wakes(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "shop:2" })).To(BeFalse())
	g.Expect(wakes(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 })).To(BeTrue(), "it rolls out")
	g.Expect(wakes(func(d *appsv1.Deployment) { d.Labels[workloadsv2.LabelAppConfig] = "till" })).To(BeTrue(), "it uses another")
	g.Expect(wakes(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].EnvFrom = takes("x") })).To(BeTrue())
}
