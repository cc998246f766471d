package stories_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// stolen is a client with the operator's credentials, as an attacker has them.
func stolen(g Gomega) client.Client {
	config, err := clientcmd.RESTConfigFromKubeConfig(cluster.OperatorKubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	thief, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	return thief
}

// scene is a namespace with what an attacker goes for.
type scene struct {
	*WithT
	thief     client.Client
	namespace string
	// theirs is a Pod of the application, and fallback one that the operator made, as it did the orphan.
	theirs, fallback, orphan *corev1.Pod
	responder                *corev1.Pod
	slice                    *discoveryv1.EndpointSlice
	maintenance              *criticalv2.Maintenance
	// These are as the operator keeps them for a responder.
	server     *appsv1.Deployment
	evictions  *policyv1.PodDisruptionBudget
	autoscaler *autoscalingv2.HorizontalPodAutoscaler
}

func newScene(t *testing.T) *scene {
	t.Helper()
	cluster.Since(t, testenv.PoliciesSince, "ValidatingAdmissionPolicies")
	w := cluster.NewWorld(t)
	s := &scene{WithT: w.WithT, thief: stolen(w), namespace: w.Namespace}
	s.theirs = &corev1.Pod{ObjectMeta: s.meta("theirs"), Spec: testenv.PodSpec()}
	s.fallback = s.asFallback(&corev1.Pod{ObjectMeta: s.meta("fallback"), Spec: testenv.PodSpec()})
	s.orphan = s.asFallback(&corev1.Pod{ObjectMeta: s.meta("orphan"), Spec: testenv.PodSpec()})
	s.orphan.OwnerReferences, s.orphan.Annotations = nil, map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned}
	s.responder = &corev1.Pod{ObjectMeta: s.meta("responder"), Spec: testenv.PodSpec()}
	s.responder.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer}
	s.slice = s.sliceOf("theirs", "endpointslice-controller.k8s.io")
	s.maintenance = &criticalv2.Maintenance{ObjectMeta: s.meta("upgrade"), Spec: criticalv2.MaintenanceSpec{Services: []string{"shop"}}}
	s.server = s.deployment()
	s.evictions = s.named(budget(criticalv2.LabelResponder, criticalv2.ResponderServer), criticalv2.ResponderName).(*policyv1.PodDisruptionBudget)
	s.autoscaler = s.named(autoscaler(criticalv2.ResponderName), criticalv2.ResponderName).(*autoscalingv2.HorizontalPodAutoscaler)
	for _, object := range []client.Object{
		s.theirs, s.fallback, s.orphan, s.responder, s.slice, s.maintenance, s.server, s.evictions, s.autoscaler,
	} {
		s.Expect(cluster.Client.Create(t.Context(), object)).To(Succeed())
	}
	return s
}

func (s *scene) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

func (s *scene) asFallback(pod *corev1.Pod) *corev1.Pod {
	pod.Labels = map[string]string{criticalv2.LabelFallbackFor: "shop"}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "mycrd.com/v2", Kind: "CriticalService", Name: "storefront", UID: "1", Controller: new(true),
	}}
	return pod
}

func (s *scene) sliceOf(name, manager string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: s.meta(name), AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.1.2.3"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: s.namespace, Name: "responder"},
		}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: "shop", discoveryv1.LabelManagedBy: manager}
	return slice
}

func (s *scene) deployment(changes ...func(*corev1.PodSpec)) *appsv1.Deployment {
	labels := map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer}
	spec := hardened()
	for _, change := range changes {
		change(&spec)
	}
	made := &appsv1.Deployment{ObjectMeta: s.meta(criticalv2.ResponderName), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
	made.Labels = labels
	return made
}

// hardened is a Pod that meets "restricted", without a token.
func hardened() corev1.PodSpec {
	spec := testenv.PodSpec()
	spec.AutomountServiceAccountToken = new(false)
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	return spec
}

// patch changes an object as a merge patch does.
func (s *scene) patch(object client.Object, patch string) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
}

// image changes what a Pod runs.
func (s *scene) image(pod *corev1.Pod) func(context.Context) error {
	return func(ctx context.Context) error {
		patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"web","image":"evil"}]}}`))
		return s.thief.Patch(ctx, pod.DeepCopy(), patch, client.DryRunAll)
	}
}

// status changes the status of a Pod.
func (s *scene) status(pod *corev1.Pod, patch string) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Status().Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(patch)))
	}
}

// subresource changes the status of an object of any kind.
func (s *scene) subresource(object client.Object, patch string) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Status().Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
}

// asOneWhoMayDelete changes an object as the operator would with the right to delete it: without that right, the admission
// plugin OwnerReferencesPermissionEnforcement denies owners before any policy does, where it is enabled.
func (s *scene) asOneWhoMayDelete(object client.Object, patch string) func(context.Context) error {
	config := rest.CopyConfig(cluster.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: testenv.OperatorUser.Name, Groups: []string{user.SystemPrivilegedGroup}}
	mighty, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme()})
	s.Expect(err).NotTo(HaveOccurred())
	return func(ctx context.Context) error {
		return mighty.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
}

func (s *scene) create(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.thief.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func (s *scene) delete(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return s.thief.Delete(ctx, object, client.DryRunAll) }
}

// named are the same objects under other names, with the labels of the operator.
func (s *scene) named(object client.Object, name string) client.Object {
	object.SetNamespace(s.namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{criticalv2.LabelResponder: criticalv2.ResponderListeners})
	return object
}

// budget lets no Pod with a label be evicted.
func budget(label, value string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: value}},
	}}
}

// autoscaler decides how many Pods a Deployment has.
func autoscaler(deployment string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: deployment}, MaxReplicas: 1,
	}}
}

// Every attempt is one that the operator's roles allow.
func TestWhatAStolenTokenIsDenied(t *testing.T) {
	s := newScene(t)
	apiServer := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}
	instead := s.sliceOf("instead", criticalv2.ManagedBy)
	instead.Namespace, instead.Labels[discoveryv1.LabelServiceName] = "default", "kubernetes"
	instead.Endpoints[0].TargetRef.Namespace = "default"
	webhook := s.sliceOf("webhook", criticalv2.ManagedBy)
	webhook.Labels[discoveryv1.LabelServiceName] = "critical-service-webhook"
	manager := s.asFallback(&corev1.Pod{ObjectMeta: s.meta("manager"), Spec: hardened()})
	manager.Labels["app.kubernetes.io/name"] = "critical-service-operator"
	elsewhere := s.sliceOf("elsewhere", criticalv2.ManagedBy)
	elsewhere.Endpoints[0].TargetRef.Namespace = "kube-system"
	nowhere := s.sliceOf("nowhere", criticalv2.ManagedBy)
	nowhere.Endpoints[0].TargetRef = nil
	atHome := metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "other"}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "criticalservices.mycrd.com"},
	}}

	for name, attempt := range map[string]struct {
		do   func(context.Context) error
		says string
	}{
		"to make a Pod of one's own":                     {s.create(&corev1.Pod{ObjectMeta: s.meta("evil"), Spec: hardened()}), "makes and keeps only Pods that"},
		"to change the image of a Pod of others":         {s.image(s.theirs), "makes and keeps only Pods that"},
		"to change the image of a fallback":              {s.image(s.fallback), "changes nothing in a Pod's spec"},
		"to make a Pod of others a fallback":             {s.patch(s.theirs, `{"metadata":{"labels":{"mycrd.com/fallback-for":"shop"}}}`), "makes and keeps only Pods that"},
		"to delete a Pod of others":                      {s.delete(s.theirs), "changes and deletes only Pods that"},
		"to delete a responder Pod":                      {s.delete(s.responder), "changes and deletes only Pods that"},
		"to let a Pod of others look ready":              {s.status(s.theirs, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`), "status of responder Pods only"},
		"to let a responder Pod look ready":              {s.status(s.responder, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`), "writes only its own condition"},
		"to write another annotation on a responder Pod": {s.status(s.responder, `{"metadata":{"annotations":{"example.com/a":"b"}}}`), "writes only its own condition"},
		"to label a responder Pod as another's":          {s.status(s.responder, `{"metadata":{"labels":{"app":"shop"}}}`), "writes only its own condition"},
		"to hold up the end of a responder Pod":          {s.status(s.responder, `{"metadata":{"finalizers":["example.com/evil"]}}`), "writes only its own condition"},
		"to give a responder Pod another node":           {s.status(s.responder, `{"status":{"hostIP":"10.9.9.9","hostIPs":[{"ip":"10.9.9.9"}]}}`), "writes only its own condition"},
		"to let a responder Pod look ended":              {s.status(s.responder, `{"status":{"phase":"Failed"}}`), "writes only its own condition"},
		"to say what a responder Pod runs":               {s.status(s.responder, `{"status":{"containerStatuses":[{"name":"web","image":"evil","imageID":"","ready":true,"restartCount":0}]}}`), "writes only its own condition"},
		"to give a responder Pod another address":        {s.status(s.responder, `{"status":{"podIP":"10.9.9.9","podIPs":[{"ip":"10.9.9.9"}]}}`), "writes only its own condition"},

		"to delete the addresses of the API server":       {s.delete(apiServer), "changes and deletes only EndpointSlices"},
		"to change the addresses of the API server":       {s.patch(apiServer, `{"endpoints":[]}`), "EndpointSlices with its own label"},
		"to publish something as the API server":          {s.create(instead), "publishes nothing for the API server"},
		"to delete the addresses of a Service":            {s.delete(s.slice), "changes and deletes only EndpointSlices"},
		"to take over the addresses of a Service":         {s.patch(s.slice, `{"metadata":{"labels":{"endpointslice.kubernetes.io/managed-by":"critical-service-operator.mycrd.com"}}}`), "changes and deletes only EndpointSlices"},
		"to make a slice in the name of Kubernetes":       {s.create(s.sliceOf("another", "endpointslice-controller.k8s.io")), "makes and keeps only EndpointSlices"},
		"to publish something as the webhook":             {s.create(webhook), "nothing for the Services of the operators"},
		"to let a fallback be the operator":               {s.create(manager), "no fallback Pod is one of an operator"},
		"to make one of the operator's of a fallback":     {s.patch(s.fallback, `{"metadata":{"labels":{"app.kubernetes.io/name":"critical-service-workloads"}}}`), "no fallback Pod is one of an operator"},
		"to publish a Pod of another namespace":           {s.create(elsewhere), "publishes only Pods of"},
		"to publish an address that is not that of a Pod": {s.create(nowhere), "publishes only Pods of"},

		"to make any ConfigMap":         {s.create(s.named(&corev1.ConfigMap{}, "other")), "named critical-service-responder"},
		"to show a dashboard elsewhere": {s.create(&corev1.ConfigMap{ObjectMeta: s.meta("critical-service-operator-dashboard")}), "its dashboard in its own"},
		"to make any Deployment":        {s.create(s.named(s.deployment(), "other")), "named critical-service-responder"},
		"to make any budget":            {s.create(s.named(budget(criticalv2.LabelResponder, criticalv2.ResponderServer), "other")), "named critical-service-responder"},
		"to hold up evictions":          {s.create(s.named(budget("app", "shop"), criticalv2.ResponderName)), "of responder Pods only"},
		"to make any autoscaler":        {s.create(s.named(autoscaler(criticalv2.ResponderName), "other")), "named critical-service-responder"},
		"to scale a workload of others": {s.create(s.named(autoscaler("shop"), criticalv2.ResponderName)), "scales responders only"},
		"to make a ConfigMap unmarked":  {s.create(&corev1.ConfigMap{ObjectMeta: s.meta(criticalv2.ResponderName)}), "with its label"},
		"to make any Secret":            {s.create(&corev1.Secret{ObjectMeta: atHome}), "only the Secret critical-service-webhook-ca"},
		"to make a token of another account": {s.create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: atHome.Namespace, Name: "other-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}},
			Type:       corev1.SecretTypeServiceAccountToken,
		}), "no token"},
		"to make any Lease": {s.create(&coordinationv1.Lease{ObjectMeta: atHome}), "only its own Lease"},

		"a responder with a token":      {s.create(s.deployment(func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil })), "have no token"},
		"a responder with privileges":   {s.create(s.deployment(func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true) })), "have no privileges"},
		"a responder in the node's net": {s.create(s.deployment(func(p *corev1.PodSpec) { p.HostNetwork = true })), "have nothing of their node"},
		"a responder as root":           {s.create(s.deployment(func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = nil })), "do not run as root"},
		"a responder without seccomp":   {s.create(s.deployment(func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile = nil })), "have a seccomp profile"},
		"a responder whose probes ask others": {s.create(s.deployment(func(p *corev1.PodSpec) {
			p.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "169.254.169.254", Port: intstr.FromInt32(80)}}}
		})), "name no host"},
		"a responder of another account": {s.create(s.deployment(func(p *corev1.PodSpec) { p.ServiceAccountName = "admin" })), "as the ServiceAccount default"},
		"a responder with a Secret": {s.create(s.deployment(func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}}}
		})), "mount ConfigMaps only"},
		"a responder with a Secret in its environment": {s.create(s.deployment(func(p *corev1.PodSpec) {
			p.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}}
		})), "no environment from elsewhere"},

		"a responder as Pods of an application": {func(ctx context.Context) error {
			made := s.deployment()
			made.Spec.Template.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer, "app": "shop"}
			return s.create(made)(ctx)
		}, "no label of an application"},
		"a responder on a node of one's choice": {s.create(s.deployment(func(p *corev1.PodSpec) { p.NodeName = "control-plane" })), "chooses the nodes"},

		"to run another account in a responder that exists": {s.patch(s.server, `{"spec":{"template":{"spec":{"serviceAccountName":"admin"}}}}`), "as the ServiceAccount default"},
		"to let a responder that exists mount a Secret":     {s.patch(s.server, `{"spec":{"template":{"spec":{"volumes":[{"name":"s","secret":{"secretName":"s"}}]}}}}`), "mount ConfigMaps only"},
		"to hold up evictions by a budget that exists":      {s.patch(s.evictions, `{"spec":{"selector":{"matchLabels":{"mycrd.com/responder":null,"app":"shop"}}}}`), "of responder Pods only"},
		"to scale others by an autoscaler that exists":      {s.patch(s.autoscaler, `{"spec":{"scaleTargetRef":{"name":"shop"}}}`), "scales responders only"},

		"to end the maintenance of a team":       {s.patch(s.maintenance, `{"spec":{"message":"evil"}}`), "nothing in a Maintenance's spec"},
		"to let its definition go with an owner": {s.asOneWhoMayDelete(definition, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"2"}]}}`), "when its definition goes"},
		"to forget the version that is stored":   {s.subresource(definition, `{"status":{"storedVersions":["v1"]}}`), "never the one in which objects are stored"},
		"to let its definition look terminating": {s.subresource(definition, `{"status":{"conditions":[]}}`), "only the stored versions"},
		"to let another server convert":          {s.patch(definition, `{"spec":{"conversion":{"webhook":{"clientConfig":{"url":"https://evil.example.com","service":null}}}}}`), "does not change who converts"},
		"to hold up the end of its definition":   {s.patch(definition, `{"metadata":{"finalizers":["example.com/evil"]}}`), "when its definition goes"},
		"to serve a version no more":             {s.patch(definition, `{"spec":{"names":{"shortNames":["evil"]}}}`), "no version of its definition"},
	} {
		t.Run(name, func(t *testing.T) {
			// A policy works some moments after it was made.
			NewWithT(t).Eventually(func() error { return attempt.do(t.Context()) }).WithTimeout(time.Minute).Should(MatchError(ContainSubstring(attempt.says)))
		})
	}
}

func TestWhatTheOperatorDoesIsAllowedByThePolicies(t *testing.T) {
	s := newScene(t)
	listeners := s.named(&corev1.ConfigMap{}, criticalv2.ResponderName)
	for name, do := range map[string]func(context.Context) error{
		"a fallback":                      s.create(s.asFallback(&corev1.Pod{ObjectMeta: s.meta("another"), Spec: testenv.PodSpec()})),
		"new labels of a fallback":        s.patch(s.fallback, `{"metadata":{"labels":{"app":"shop"}}}`),
		"the end of a fallback":           s.delete(s.fallback),
		"the end of an orphan":            s.delete(s.orphan),
		"an open gate of a responder":     s.status(s.responder, `{"status":{"conditions":[{"type":"mycrd.com/published","status":"True"}]}}`),
		"the version of a team's content": s.status(s.responder, `{"metadata":{"annotations":{"mycrd.com/content-version":"2"}}}`),
		"a standby slice":                 s.create(s.sliceOf("standby", criticalv2.ManagedBy)),
		"the table of listeners":          s.create(listeners),
		"another image of a responder":    s.patch(s.server, `{"metadata":{"annotations":{"a":"b"}},"spec":{"template":{"spec":{"containers":[{"name":"web","image":"next","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}}}`),
		"more Pods of an autoscaler":      s.patch(s.autoscaler, `{"spec":{"maxReplicas":3}}`),
		"another budget of responders":    s.patch(s.evictions, `{"spec":{"maxUnavailable":1}}`),
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(do(t.Context())).To(Succeed())
		})
	}
}

// This policy has a binding of its own here: the Pods of other tests say nothing of security.
func TestAFallbackPodIsRestrictedInEveryNamespace(t *testing.T) {
	s := newScene(t)
	objects, err := testenv.ReadYAML(testenv.Path("config/admission/restricted.yaml"))
	s.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		if object.GetKind() == "ValidatingAdmissionPolicyBinding" {
			s.Expect(unstructured.SetNestedStringMap(object.Object, map[string]string{corev1.LabelMetadataName: s.namespace},
				"spec", "matchResources", "namespaceSelector", "matchLabels")).To(Succeed())
		}
		s.Expect(cluster.Client.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { s.Expect(cluster.Client.Delete(context.WithoutCancel(t.Context()), object)).To(Succeed()) })
	}
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		says   string
	}{
		"a token": {func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = new(true) }, "have no token"},
		"a token by another way": {func(p *corev1.PodSpec) {
			p.ServiceAccountName, p.Volumes = "default", []corev1.Volume{projectedToken()}
		}, "have no token"},
		"the network of the node": {func(p *corev1.PodSpec) { p.HostNetwork = true }, "have nothing of their node"},
		"a folder of the node":    {func(p *corev1.PodSpec) { p.Volumes = []corev1.Volume{hostPath()} }, "have nothing of their node"},
		"a capability": {func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
		}, "have no privileges"},
		"a node of one's choice": {func(p *corev1.PodSpec) { p.NodeName = "control-plane" }, "chooses the nodes"},
		"a hook that asks others": {func(p *corev1.PodSpec) {
			p.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Host: "169.254.169.254", Port: intstr.FromInt32(80)}}}
		}, "name no host"},
		"no seccomp profile":         {func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile = nil }, "have a seccomp profile"},
		"no security context at all": {func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = nil }, "have no privileges"},
		"the user root":              {func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.RunAsUser = new(int64(0)) }, "do not run as root"},
		"a container that begins with privileges": {func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "init", Image: "evil", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}
		}, "have no privileges"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := s.asFallback(&corev1.Pod{ObjectMeta: s.meta("evil"), Spec: hardened()})
			test.change(&pod.Spec)
			NewWithT(t).Eventually(func() error { return s.create(pod)(t.Context()) }).WithTimeout(time.Minute).Should(MatchError(ContainSubstring(test.says)))
		})
	}
	pod := s.asFallback(&corev1.Pod{ObjectMeta: s.meta("restricted"), Spec: hardened()})
	s.Expect(s.create(pod)(t.Context())).To(Succeed(), "one that meets restricted is made")
}

func projectedToken() corev1.Volume {
	return corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
	}}}
}

func hostPath() corev1.Volume {
	return corev1.Volume{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}
}
