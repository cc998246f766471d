package outage_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
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
			want:    `ReplicaSet "web"`,
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

var (
	until   = time.Date(2030, 1, 31, 18, 30, 0, 0, time.UTC)
	options = outage.Options{
		Service: types.NamespacedName{Namespace: namespace, Name: "web"}, Until: until, KeepFallback: true,
		OperatorNamespace: "operators", OperatorServiceAccount: "critical",
	}
)

// announced is the ConfigMap, if there is one.
func (w *world) announced() *corev1.ConfigMap {
	w.t.Helper()
	config := &corev1.ConfigMap{}
	err := w.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: "web-maintenance"}, config)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return config
}

func TestAnOutageBeginsAndEnds(t *testing.T) {
	w := newWorld(t, application()...)
	end, err := outage.Begin(t.Context(), w, options)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.replicas("web")).To(BeZero())

	config := w.announced()
	w.Expect(config.Labels).To(HaveKeyWithValue(criticalv2.LabelResponder, criticalv2.ResponderMaintenance))
	w.Expect(config.Data).To(Equal(map[string]string{
		"service": "web", "until": "2030-01-31T18:30:00Z", "announce": "false", "workload": "deployments.apps/web", "replicas": "3",
	}))
	role, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
	w.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(config), role)).To(Succeed())
	w.Expect(role.Rules).To(Equal([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"web-maintenance"}, Verbs: []string{"patch", "delete"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{"web"}, Verbs: []string{"get", "patch"}},
	}), "exactly what it takes to end this")
	w.Expect(role.OwnerReferences).To(HaveExactElements(HaveField("UID", config.UID)), "it goes with the ConfigMap")
	w.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(config), binding)).To(Succeed())
	w.Expect(binding.OwnerReferences).To(HaveExactElements(HaveField("UID", config.UID)))
	w.Expect(binding.Subjects).To(Equal([]rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "operators", Name: "critical"}}))

	w.Expect(end(t.Context())).To(Succeed())
	w.Expect(w.replicas("web")).To(Equal(int32(3)))
	w.Expect(w.announced()).To(BeNil())
	w.Expect(end(t.Context())).To(Succeed(), "a second time there is nothing to do")
}

// scale is what another user does.
func (w *world) scale(replicas int32) {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.Expect(w.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, deployment)).To(Succeed())
	deployment.Spec.Replicas = new(replicas)
	w.Expect(w.Update(w.t.Context(), deployment)).To(Succeed())
}

func TestWhatIsOwedWithoutAConfigMap(t *testing.T) {
	passed := time.Now().Add(-time.Minute)
	for sentence, c := range map[string]struct {
		until time.Time
		// replicas are what the workload has when the outage ends.
		replicas, want int32
		// instead is another maintenance, with the name of the first.
		instead map[string]string
		says    string
	}{
		"it was deleted before the end, when the operator gives nothing back": {until: until, want: 3},
		"one without an end was deleted":                                      {want: 3},
		"it was deleted, and the workload scaled":                             {until: until, replicas: 1, want: 1},
		"the operator was faster":                                             {until: passed, replicas: 3, want: 3},
		"after the end it is not known whether that is wanted": {
			until: passed, want: 0, says: "`kubectl scale -n shop deployments.apps/web --replicas=3`",
		},
		"another one stands in its place": {until: until, instead: map[string]string{"service": "web"}, want: 3},
		"another one stands in its place, and owes the same": {
			until: until, instead: map[string]string{"service": "web", "workload": "deployments.apps/web", "replicas": "5"}, want: 0,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, application()...)
			begun := options
			begun.Until = c.until
			end, err := outage.Begin(t.Context(), w, begun)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.Delete(t.Context(), w.announced())).To(Succeed())
			if c.instead != nil {
				other := &corev1.ConfigMap{ObjectMeta: named("web-maintenance"), Data: c.instead}
				other.UID = "another"
				w.Expect(w.Create(t.Context(), other)).To(Succeed())
			}
			w.scale(c.replicas)
			if c.says == "" {
				w.Expect(end(t.Context())).To(Succeed())
			} else {
				w.Expect(end(t.Context())).To(MatchError(ContainSubstring(c.says)))
			}
			w.Expect(w.replicas("web")).To(Equal(c.want))
		})
	}
}

func TestWhatIsOwedIsReadFromAConfigMapThatIsNotValid(t *testing.T) {
	w := newWorld(t, application()...)
	end, err := outage.Begin(t.Context(), w, options)
	w.Expect(err).NotTo(HaveOccurred())
	config := w.announced()
	config.Data["until"], config.Data["replicas"] = "at six", "many"
	w.Expect(w.Update(t.Context(), config)).To(Succeed())
	w.Expect(end(t.Context())).To(MatchError(And(ContainSubstring(`key "replicas"`), ContainSubstring("kubectl scale -n shop"))))
	w.Expect(w.announced()).NotTo(BeNil(), "it is the only record")

	config.Data["replicas"] = "3"
	w.Expect(w.Update(t.Context(), config)).To(Succeed())
	w.Expect(end(t.Context())).To(Succeed())
	w.Expect(w.replicas("web")).To(Equal(int32(3)))
	w.Expect(w.announced()).To(BeNil())
}

func TestAnOutageThatCannotBeginLeavesNothing(t *testing.T) {
	for sentence, c := range map[string]struct {
		refuse func(string, client.Object) error
		with   []client.Object
		says   string
	}{
		"who may not scale":              {refuse: forbidden[*unstructured.Unstructured]("scale"), says: "you may not scale Deployment \"web\""},
		"who may not make Roles":         {refuse: forbidden[*rbacv1.Role]("create"), says: outage.ErrNotPermitted.Error()},
		"who may not make RoleBindings":  {refuse: forbidden[*rbacv1.RoleBinding]("create"), says: "leave the end out (--until)"},
		"who may not make ConfigMaps":    {refuse: forbidden[*corev1.ConfigMap]("create"), says: "create ConfigMap"},
		"who has no application":         {with: []client.Object{service()}, says: "no Pod of the application"},
		"whose application has none yet": {with: []client.Object{service(), pod("web-1", "ReplicaSet", "web-abc"), replicaSet("web-abc", "web"), deployment("web", 0)}, says: "has no replicas"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if c.with == nil {
				c.with = application()
			}
			w := newWorld(t, c.with...)
			w.refuse = c.refuse
			_, err := outage.Begin(t.Context(), w, options)
			w.Expect(err).To(MatchError(ContainSubstring(c.says)))
			w.Expect(w.announced()).To(BeNil())
			if c.refuse != nil {
				w.Expect(w.replicas("web")).To(Equal(int32(3)))
			}
		})
	}
}

func TestTwoOutagesAtOnceAreOneTooMany(t *testing.T) {
	w := newWorld(t, append(application(), &corev1.ConfigMap{ObjectMeta: named("web-maintenance")})...)
	_, err := outage.Begin(t.Context(), w, options)
	w.Expect(err).To(MatchError(And(ContainSubstring("is under way"), ContainSubstring("maintenance off svc/web -n shop"))))
	w.Expect(w.replicas("web")).To(Equal(int32(3)))
	w.Expect(w.announced()).NotTo(BeNil(), "what another user announced stays")
}

func TestWithoutAnEndNothingIsPermitted(t *testing.T) {
	w := newWorld(t, application()...)
	w.refuse = forbidden[*rbacv1.Role]("create")
	endless := options
	endless.Until, endless.KeepFallback, endless.Message = time.Time{}, false, "We move house."
	_, err := outage.Begin(t.Context(), w, endless)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.announced().Data).To(Equal(map[string]string{
		"service": "web", "message": "We move house.", "workload": "deployments.apps/web", "replicas": "3",
	}))
}

// operatorIn is a Deployment that has the labels of the operator.
func operatorIn(namespace string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator", Labels: installation.Labels}}
	d.Spec.Template.Labels, d.Spec.Template.Spec.ServiceAccountName = installation.Labels, "of-"+namespace
	return d
}

func TestWhoTheOperatorIs(t *testing.T) {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	definition.SetName(installation.Definition)
	NewWithT(t).Expect(unstructured.SetNestedField(definition.Object, "olm", "spec", "conversion", "webhook", "clientConfig", "service", "namespace")).To(Succeed())
	imposter := operatorIn("aaa-attacker")
	like := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: imposter.Namespace, Name: "operator", Labels: installation.Labels},
		Spec:       corev1.PodSpec{ServiceAccountName: "of-aaa-attacker"},
	}
	for sentence, c := range map[string]struct {
		objects []client.Object
		want    outage.Operator
	}{
		"where the definition says, not an imposter elsewhere": {
			[]client.Object{imposter, like, definition, operatorIn("olm")}, outage.Operator{ServiceAccount: types.NamespacedName{Namespace: "olm", Name: "of-olm"}},
		},
		"in the usual namespace if the definition names none": {
			[]client.Object{imposter, like, operatorIn("critical-service-system")},
			outage.Operator{ServiceAccount: types.NamespacedName{Namespace: "critical-service-system", Name: "of-critical-service-system"}},
		},
		"one that cannot be found is assumed where the definition says": {[]client.Object{imposter, like, definition}, outage.Operator{
			ServiceAccount: types.NamespacedName{Namespace: "olm", Name: "critical-service-operator"}, Assumed: true,
		}},
		"one that cannot be found is assumed": {[]client.Object{imposter, like}, outage.Operator{
			ServiceAccount: types.NamespacedName{Namespace: "critical-service-system", Name: "critical-service-operator"}, Assumed: true,
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, c.objects...)
			w.Expect(outage.FindOperator(t.Context(), w)).To(Equal(c.want))
		})
	}
}

func TestWithoutAnOperatorNothingIsScaled(t *testing.T) {
	w := newWorld(t, append(application(), operatorIn("aaa-attacker"))...)
	unnamed := options
	unnamed.OperatorNamespace, unnamed.OperatorServiceAccount = "", ""
	_, err := outage.Begin(t.Context(), w, unnamed)
	w.Expect(err).To(MatchError(outage.ErrNoOperator))
	w.Expect(w.replicas("web")).To(Equal(int32(3)))
	w.Expect(w.announced()).To(BeNil())

	unnamed.Until = time.Time{}
	_, err = outage.Begin(t.Context(), w, unnamed)
	w.Expect(err).NotTo(HaveOccurred(), "one without an end is the caller's to end")
}
