package outage_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
)

func TestWhatStandsBehindAService(t *testing.T) {
	ended := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	labelled := func(p *corev1.Pod) { p.Labels[criticalv2.LabelFallbackFor] = "web" }
	ours := func(p *corev1.Pod) {
		labelled(p)
		p.Annotations = map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned}
	}
	for sentence, c := range map[string]struct {
		objects []client.Object
		// want is the workload, or a part of the refusal.
		want, refusal string
	}{
		"a Deployment is found, and not its ReplicaSet": {
			objects: application(), want: `Deployment "web"`,
		},
		"during a rollout there are two ReplicaSets of one Deployment": {
			objects: append(application(), pod("web-2", "ReplicaSet", "web-def"), replicaSet("web-def", "web")), want: `Deployment "web"`,
		},
		"a StatefulSet": {
			objects: []client.Object{pod("web-0", "StatefulSet", "web"), &appsv1.StatefulSet{ObjectMeta: named("web"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1))}}},
			want:    `StatefulSet "web"`,
		},
		"a ReplicaSet without a Deployment": {
			objects: []client.Object{pod("web-0", "ReplicaSet", "web"), &appsv1.ReplicaSet{ObjectMeta: named("web"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1))}}},
			refusal: `ReplicaSet "web", which keeps Pod "web-0", is neither a Deployment nor a StatefulSet`,
		},
		"Pods that have ended, and fallbacks, do not count": {
			objects: append(application(), pod("old", "DaemonSet", "web", ended), pod("fallback", "", "", ours)), want: `Deployment "web"`,
		},
		"a Pod of the application counts, whatever label was copied onto it": {
			objects: []client.Object{pod("web-1", "ReplicaSet", "web-abc", labelled), replicaSet("web-abc", "web"), deployment("web", 1)}, want: `Deployment "web"`,
		},
		"a DaemonSet cannot be scaled": {
			objects: []client.Object{pod("web-0", "DaemonSet", "web"), &appsv1.DaemonSet{ObjectMeta: named("web")}},
			refusal: `DaemonSet "web", which keeps Pod "web-0", cannot be scaled`,
		},
		"a Pod without a controller cannot be scaled": {
			objects: []client.Object{pod("web-0", "", "")}, refusal: `the Pod "web-0" has no controller`,
		},
		"two Deployments are one too many": {
			objects: append(application(), pod("blue-1", "ReplicaSet", "blue-abc"), replicaSet("blue-abc", "blue"), deployment("blue", 1)),
			refusal: `several workloads stand behind Service "web" (deployments.apps/blue, deployments.apps/web)`,
		},
		"nothing is nothing": {refusal: "no Pod of the application stands behind"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, c.objects...)
			found, err := outage.Find(t.Context(), w, service())
			if c.refusal != "" {
				w.Expect(err).To(MatchError(outage.ErrNoWorkload))
				w.Expect(err).To(MatchError(ContainSubstring(c.refusal)))
				return
			}
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(found.String()).To(Equal(c.want))
		})
	}
}

// fields says that a manager owns the replicas of a Deployment.
func fields(manager string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
		}}
	}
}

func labelled(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Labels = map[string]string{key: value} }
}

func TestWhatMaySetTheReplicasAgain(t *testing.T) {
	autoscaler := func(labels map[string]string) client.Object {
		hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named("web")}
		hpa.Labels = labels
		hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}
		return hpa
	}
	for sentence, c := range map[string]struct {
		objects []client.Object
		notes   []string
	}{
		"a Deployment without a deployer": {application(), nil},
		"Argo CD, by its label":           {application(labelled("argocd.argoproj.io/instance", "shop")), []string{"Argo CD keeps"}},
		"Flux, by its label":              {application(labelled("kustomize.toolkit.fluxcd.io/name", "shop")), []string{"Flux keeps"}},
		"Argo CD, by its fields":          {application(fields("argocd-controller")), []string{"Argo CD sets the replicas"}},
		"Flux, by its fields":             {application(fields("kustomize-controller")), []string{"Flux sets the replicas"}},
		"Helm, by its annotation":         {application(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"meta.helm.sh/release-name": "shop"} }), []string{"Helm keeps"}},
		"Argo CD that leaves the replicas to others": {
			application(labelled("argocd.argoproj.io/instance", "shop"), fields("kubectl-scale")), nil,
		},
		"a HorizontalPodAutoscaler": {append(application(), autoscaler(nil)), []string{"HorizontalPodAutoscaler \"web\" pauses"}},
		"KEDA":                      {append(application(), autoscaler(map[string]string{"scaledobject.keda.sh/name": "web"})), []string{"KEDA's ScaledObject"}},
		"a controller above it": {
			application(func(d *appsv1.Deployment) { d.ObjectMeta = ownedBy(d.ObjectMeta, "Shop", "shop") }), []string{`is kept by Shop "shop"`},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, c.objects...)
			found, err := outage.Find(t.Context(), w, service())
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(found.Notes).To(HaveLen(len(c.notes)))
			for i, note := range c.notes {
				w.Expect(found.Notes[i]).To(ContainSubstring(note))
			}
		})
	}
}
