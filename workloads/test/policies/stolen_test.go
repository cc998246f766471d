package policies_test

import (
	"context"
	"encoding/base64"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/internal/operator"
)

const (
	evil   = `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"evil"}]}}}}`
	owners = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"2"}]}}`
	label  = `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"critical-service-workloads"}}}`
)

// attempt is what an attacker does, and what the refusal says.
type attempt struct {
	do   func(context.Context) error
	says string
}

// refused sees that all attempts are refused. A policy works some moments after it was made.
func refused(t *testing.T, attempts map[string]attempt) {
	t.Helper()
	for name, attempt := range attempts {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Eventually(func() error { return attempt.do(t.Context()) }).WithTimeout(time.Minute).Should(MatchError(ContainSubstring(attempt.says)))
		})
	}
}

// Every attempt of these tests is one that the operator's roles allow.
func TestWhatAStolenTokenIsDeniedOfObjectsOfOthers(t *testing.T) {
	s := newScene(t)
	const (
		theirs = "changes and deletes only objects with its label"
		kept   = "keeps its label"
		envs   = "changes only the envFrom"
		joined = "only those with the label mycrd.com/appconfig"
	)
	refused(t, map[string]attempt{
		"to change the image of a Pod":                            {s.patch(s.theirPod, `{"spec":{"containers":[{"name":"web","image":"evil"}]}}`), "the operator"},
		"to delete a Pod":                                         {s.delete(s.theirPod), theirs},
		"to let a Pod look as its own":                            {s.patch(s.theirPod, label), theirs},
		"to let the garbage collector take one":                   {s.patch(s.theirPod, owners), kept},
		"to change a Secret":                                      {s.patch(s.theirSecret, `{"data":{"password":"ZXZpbA=="}}`), kept},
		"to take over a Secret":                                   {s.patch(s.theirSecret, label), theirs},
		"to send a Service elsewhere":                             {s.patch(s.theirService, `{"spec":{"selector":{"app":"evil"}}}`), kept},
		"to take over a Service":                                  {s.patch(s.theirService, label), theirs},
		"to change a claim":                                       {s.patch(s.theirClaim, `{"metadata":{"annotations":{"a":"b"}}}`), kept},
		"to let the garbage collector take a claim with its data": {s.patch(s.theirClaim, owners), kept},
		"to change a ConfigMap":                                   {s.patch(s.theirConfig, `{"data":{"a":"b"}}`), kept},
		"to delete a ConfigMap":                                   {s.delete(s.theirConfig), theirs},
		"to delete a budget":                                      {s.delete(s.theirBudget), theirs},
		"to change a ServiceFallback":                             {s.merge(s.theirFallback, `{"spec":{"services":["evil"]}}`), kept},
		"to delete a ServiceFallback":                             {s.delete(s.theirFallback), theirs},
		"to change a Database":                                    {s.merge(s.theirDatabase, `{"spec":{"image":"evil"}}`), "only its own finalizer"},
		"to let a Database look as its own":                       {s.merge(s.theirDatabase, label), "only its own finalizer"},
		"to hold up the deletion of a Database":                   {s.merge(s.theirDatabase, `{"metadata":{"finalizers":["example.com/evil"]}}`), "only its own finalizer"},
		"to change an ETCDInstance":                               {s.merge(s.etcd, `{"spec":{"replicas":5}}`), "only its own finalizer"},
		"to annotate an ETCDInstance":                             {s.merge(s.etcd, `{"metadata":{"annotations":{"example.com/a":"b"}}}`), "only its own finalizer"},
		"to let the garbage collector take an etcd":               {s.merge(s.etcd, owners), "only its own finalizer"},
		"to send an Ingress elsewhere":                            {s.patch(s.ingress, `{"spec":{"defaultBackend":{"service":{"name":"evil"}}}}`), "changes only annotations"},
		"to change the image of a workload":                       {s.patch(s.theirDeployment, evil), joined},
		"to give settings to one that asked for none":             {s.patch(s.theirDeployment, `{"spec":{"template":{"spec":{"containers":[{"name":"web","envFrom":[{"configMapRef":{"name":"a"}}]}]}}}}`), joined},
		"to let a workload ask for settings":                      {s.patch(s.theirDeployment, `{"metadata":{"labels":{"mycrd.com/appconfig":"shop"}}}`), joined},
		"to scale a workload":                                     {s.scale(s.theirDeployment), "only the Deployments of WebApps"},
		"to scale one that takes settings":                        {s.scale(s.subscriber), "only the Deployments of WebApps"},
		"to scale one that takes settings by its spec":            {s.patch(s.subscriber, `{"spec":{"replicas":0}}`), envs},
		"to pause one that takes settings":                        {s.patch(s.subscriber, `{"spec":{"paused":true}}`), envs},
		"to change the image of one that takes settings":          {s.patch(s.subscriber, evil), envs},
		"to give one that takes settings another account": {s.patch(s.subscriber,
			`{"spec":{"template":{"spec":{"serviceAccountName":"admin"}}}}`), envs},
		"to give one that takes settings a container":               {s.patch(s.subscriber, `{"spec":{"template":{"spec":{"containers":[{"name":"evil","image":"evil"}]}}}}`), envs},
		"to let one run something first":                            {s.patch(s.subscriber, `{"spec":{"template":{"spec":{"initContainers":[{"name":"evil","image":"evil"}]}}}}`), envs},
		"to give one the addresses of its hosts":                    {s.patch(s.subscriber, `{"spec":{"template":{"spec":{"hostAliases":[{"ip":"10.9.9.9","hostnames":["db"]}]}}}}`), envs},
		"to give one another command":                               {s.patch(s.subscriber, `{"spec":{"template":{"spec":{"containers":[{"name":"web","command":["evil"]}]}}}}`), envs},
		"to give one a Secret":                                      {s.patch(s.subscriber, `{"spec":{"template":{"spec":{"containers":[{"name":"web","envFrom":[{"secretRef":{"name":"theirs"}}]}]}}}}`), envs},
		"to annotate its Pods":                                      {s.patch(s.subscriber, `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`), envs},
		"to let one look as its own":                                {s.patch(s.subscriber, label), envs},
		"to let the garbage collector take one that takes settings": {s.patch(s.subscriber, owners), envs},
	})
}

func TestWhatAStolenTokenMayNotMake(t *testing.T) {
	s := newScene(t)
	const makes = "makes only objects with its label"
	at := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	secret := func(of corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: s.labelled("evil"), Type: of, StringData: map[string]string{"token-id": "abcdef"}}
	}
	token := secret(corev1.SecretTypeServiceAccountToken)
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	external := service(s.ours("evil", "WebApp"))
	external.Spec.ExternalIPs = []string{"203.0.113.1"}
	ofCore := s.pod("evil")
	ofCore.OwnerReferences[0].Kind = "CriticalService"
	refused(t, map[string]attempt{
		"a Pod":                                    {s.create(&corev1.Pod{ObjectMeta: s.theirs("evil"), Spec: hardened()}), makes},
		"a Pod that no object of its kinds owns":   {s.create(&corev1.Pod{ObjectMeta: s.labelled("evil"), Spec: hardened()}), makes},
		"a Pod of the first operator":              {s.create(ofCore), makes},
		"a Deployment":                             {s.create(deployment(s.theirs("evil"), hardened())), makes},
		"a Deployment that no WebApp owns":         {s.create(deployment(s.labelled("evil"), hardened())), makes},
		"a StatefulSet":                            {s.create(statefulSet(s.theirs("evil"), hardened())), makes},
		"a Service":                                {s.create(service(s.labelled("evil"))), makes},
		"a Service that takes addresses of others": {s.create(external), "no external IPs"},
		"a ConfigMap":                              {s.create(&corev1.ConfigMap{ObjectMeta: s.theirs("evil")}), makes},
		"a claim":                                  {s.create(claim(s.theirs("evil"))), makes},
		"a budget":                                 {s.create(budget(s.labelled("evil"), workloadsv1.LabelWebApp)), makes},
		"a budget that holds up evictions":         {s.create(budget(s.ours("evil", "WebApp"), "app")), "only of Pods of ETCDInstances and WebApps"},
		"a ServiceFallback":                        {s.create(fallback(s.labelled("evil"))), makes},
		"a Database":                               {s.create(database(s.labelled("evil"))), "only Databases that a WebApp controls"},
		"a Secret":                                 {s.create(&corev1.Secret{ObjectMeta: s.theirs("evil")}), makes},
		"a token of an account":                    {s.create(token), "no Secret that is a token"},
		"a token by which a node joins":            {s.create(secret("bootstrap.kubernetes.io/token")), "no Secret that is a token"},
		"an authority of its webhook elsewhere":    {s.create(&corev1.Secret{ObjectMeta: at(s.namespace, "critical-service-workloads-webhook-ca")}), makes},
		"another Secret in its own namespace":      {s.create(&corev1.Secret{ObjectMeta: at(operator.Namespace, "evil")}), makes},
		"the Lease of another":                     {s.create(&coordinationv1.Lease{ObjectMeta: at(operator.Namespace, "evil")}), makes},
	})
}

func TestWhatAStolenTokenIsDeniedOfItsOwn(t *testing.T) {
	s := newScene(t)
	const noToken, noNode, noPrivileges = "have no token", "have nothing of their node", "have no privileges"
	ours := func(change func(*corev1.PodSpec)) func(context.Context) error { return s.create(s.pod("evil", change)) }
	manager := s.pod("manager")
	manager.Labels["app.kubernetes.io/name"] = operator.Name
	managers := deployment(s.ours("managers", "WebApp"), hardened())
	managers.Spec.Template.Labels["app.kubernetes.io/name"] = "critical-service-operator"
	refused(t, map[string]attempt{
		"to change the image of its Pod":    {s.patch(s.ourPod, `{"spec":{"containers":[{"name":"web","image":"evil"}]}}`), "changes nothing in a Pod's spec"},
		"to make its Secret a team's":       {s.patch(s.ourSecret, `{"metadata":{"labels":null,"ownerReferences":null}}`), "keeps its label"},
		"to let its Service take addresses": {s.patch(s.ourService, `{"spec":{"externalIPs":["203.0.113.1"]}}`), "no external IPs"},
		"to give its Deployment an account": {s.patch(s.ourDeployment, `{"spec":{"template":{"spec":{"serviceAccountName":"admin"}}}}`), "the ServiceAccount default"},
		"to give its Deployment a token":    {s.patch(s.ourDeployment, `{"spec":{"template":{"spec":{"automountServiceAccountToken":true}}}}`), noToken},
		"to make a Pod with a token":        {ours(func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil }), noToken},
		"to make one with another's token": {ours(func(p *corev1.PodSpec) {
			p.ServiceAccountName, p.Volumes = "default", []corev1.Volume{projectedToken()}
		}), noToken},
		"to make a Pod in the node's net":       {ours(func(p *corev1.PodSpec) { p.HostNetwork = true }), noNode},
		"to make a Pod with the node's files":   {ours(func(p *corev1.PodSpec) { p.Volumes = []corev1.Volume{hostPath()} }), noNode},
		"to make a Pod on a node of its choice": {ours(func(p *corev1.PodSpec) { p.NodeName = "control-plane" }), noNode},
		"to make a Pod of an operator":          {s.create(manager), "one of an operator"},
		"to make a Deployment of an operator":   {s.create(managers), "one of an operator"},
		"to make a Pod whose probes ask others": {ours(func(p *corev1.PodSpec) {
			p.Containers[0].StartupProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Host: "169.254.169.254", Port: intstr.FromInt32(80)}}}
		}), "name no host"},
		"to make a Pod with a capability": {ours(func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
		}), noPrivileges},
		"to make a Pod that says nothing":    {ours(func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = nil }), noPrivileges},
		"to make a Pod without seccomp":      {ours(func(p *corev1.PodSpec) { p.SecurityContext = nil }), "a seccomp profile"},
		"to make a Pod that first may do so": {ours(initPrivileged), noPrivileges},
		"to make a StatefulSet with a token": {s.create(statefulSet(s.ours("evil", "ETCDInstance"), tokened())), noToken},
	})
}

func TestWhatAStolenTokenMayNotSayOfWhomTheAPIServerTrusts(t *testing.T) {
	s := newScene(t)
	service := apiService()
	s.Expect(cluster.Client.Create(t.Context(), service.DeepCopy())).To(Succeed())
	t.Cleanup(func() { s.Expect(cluster.Client.Delete(context.WithoutCancel(t.Context()), service)).To(Succeed()) })
	const only = "changes only the caBundle"
	refused(t, map[string]attempt{
		"to send the requests of its API elsewhere":            {s.merge(service, `{"spec":{"service":{"name":"evil"}}}`), only},
		"to trust just any server of its API":                  {s.merge(service, `{"spec":{"insecureSkipTLSVerify":true}}`), "does not let the API server skip"},
		"to let another server convert":                        {s.merge(definition(), `{"spec":{"conversion":{"webhook":{"clientConfig":{"url":"https://evil.example.com"}}}}}`), "does not change who converts"},
		"to let none convert":                                  {s.merge(definition(), `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`), "does not change who converts"},
		"to change its definition":                             {s.merge(definition(), `{"spec":{"names":{"shortNames":["evil"]}}}`), only},
		"to let the garbage collector take it and all objects": {s.merge(definition(), owners), only},
		"to forget the version that is stored":                 {s.status(definition(), `{"status":{"storedVersions":["v1"]}}`), "never the one in which objects are stored"},
		"to let its definition look terminating":               {s.status(definition(), `{"status":{"conditions":[]}}`), "only the stored versions"},
	})

	crd := &apiextensionsv1.CustomResourceDefinition{}
	s.Expect(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(definition()), crd)).To(Succeed())
	trusted := crd.Spec.Conversion.Webhook.ClientConfig.CABundle
	bundle := `{"caBundle":"` + base64.StdEncoding.EncodeToString(slices.Concat(trusted, trusted)) + `"}`
	s.Expect(s.merge(service, `{"spec":`+bundle+`}`)(t.Context())).To(Succeed(), "what the operator does")
	s.Expect(s.merge(definition(), `{"spec":{"conversion":{"webhook":{"clientConfig":`+bundle+`}}}}`)(t.Context())).To(Succeed())
}

// What the policies leave is in docs/security.md.
func TestWhatAStolenTokenIsStillAllowed(t *testing.T) {
	s := newScene(t)
	withSecret := s.pod("reads", func(p *corev1.PodSpec) {
		p.Containers[0].Image = "evil"
		p.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "theirs"}}}}
	})
	for name, do := range map[string]func(context.Context) error{
		"to read a Secret whose name it knows": func(ctx context.Context) error {
			return s.thief.Get(ctx, client.ObjectKeyFromObject(s.theirSecret), &corev1.Secret{})
		},
		"to run any image without a token, that reads a Secret": s.create(withSecret),
		"to make a Deployment of a WebApp":                      s.create(deployment(s.ours("made", "WebApp"), hardened())),
		"to make a StatefulSet of an ETCDInstance":              s.create(statefulSet(s.ours("made", "ETCDInstance"), hardened())),
		"to make a Secret with its label":                       s.create(&corev1.Secret{ObjectMeta: s.labelled("made")}),
		"to change a Secret of its own":                         s.patch(s.ourSecret, `{"data":{"password":"ZXZpbA=="}}`),
		"to delete a Pod of its own":                            s.delete(s.ourPod),
		"to delete a ConfigMap of its own":                      s.delete(s.ourConfig),
		"to let the garbage collector take its own claim":       s.patch(s.ourClaim, owners),
		"to change the image of a WebApp":                       s.patch(s.ourDeployment, evil),
		"to scale a WebApp":                                     s.scale(s.ourDeployment),
		"to change the Database of a WebApp":                    s.merge(s.ourDatabase, `{"spec":{"image":"evil"}}`),
		"to let a Service of a WebApp lead elsewhere":           s.patch(s.ourService, `{"spec":{"selector":{"app":"evil"}}}`),
		"to ask for a backup of an ETCDInstance":                s.merge(s.etcd, `{"metadata":{"annotations":{"`+workloadsv1alpha1.AnnotationBackup+`":"1"}}}`),
		"to let an ETCDInstance wait for a backup":              s.merge(s.etcd, `{"metadata":{"finalizers":["`+workloadsv1alpha1.Finalizer+`"]}}`),
		"to give a workload that takes settings a ConfigMap":    s.patch(s.subscriber, `{"spec":{"template":{"spec":{"containers":[{"name":"web","envFrom":[{"configMapRef":{"name":"theirs"}}]}]}}}}`),
		"to give that one of 151 containers":                    s.patch(s.crowded, `{"spec":{"template":{"spec":{"containers":[{"name":"more-149","envFrom":[{"configMapRef":{"name":"theirs"}}]}]}}}}`),
		"to annotate an Ingress, if config/ingress is applied":  s.patch(s.ingress, `{"metadata":{"annotations":{"a":"b"}}}`),
		"to make a ServiceFallback of a WebApp":                 s.create(fallback(s.ours("made", "WebApp"))),
		"to make the Database of a WebApp":                      s.create(database(s.ours("made", "WebApp"))),
		"to make its Lease":                                     s.create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: operator.Name}}),
		"to make the authority of its webhook": s.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: operator.Namespace, Name: "critical-service-workloads-webhook-ca",
		}}),
		"to say what is not so of an AppConfig": func(ctx context.Context) error {
			app := &workloadsv2.AppConfig{ObjectMeta: s.theirs("shop")}
			app.Spec.AppName = "shop"
			app.Spec.Configuration.Settings = map[string]string{"a": "b"}
			if err := cluster.Client.Create(ctx, app.DeepCopy()); err != nil {
				return err
			}
			return s.thief.Status().Patch(ctx, app, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"configMapName":"evil"}}`)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(do(t.Context())).To(Succeed())
		})
	}
}

// config/articles grants what the operator does for users of the views, and the policies see that.
func TestWhatIsDoneForUsersOfTheViewsIsAllowedWithTheirRole(t *testing.T) {
	s := newScene(t)
	attempts := map[string]attempt{
		"to make a Database":        {s.create(database(s.theirs("made"))), "only Databases that a WebApp controls"},
		"to change an ETCDInstance": {s.merge(s.etcd, `{"spec":{"replicas":5}}`), "only its own finalizer"},
	}
	refused(t, attempts)
	const articles = "workloads/config/articles/role.yaml"
	s.Expect(apply(t.Context(), articles)).To(Succeed())
	t.Cleanup(func() { s.Expect(remove(context.WithoutCancel(t.Context()), articles)).To(Succeed()) })
	for name, attempt := range attempts {
		s.Eventually(func() error { return attempt.do(t.Context()) }).Should(Succeed(), name)
	}
}

func apiService() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1alpha1.subresources.mycrd.com"},
		"spec": map[string]any{
			"group": "subresources.mycrd.com", "version": "v1alpha1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(15),
			"service": map[string]any{"namespace": operator.Namespace, "name": "critical-service-workloads-webhook", "port": int64(9444)},
		},
	}}
}

func definition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "appconfigs.mycrd.com"},
	}}
}

func projectedToken() corev1.Volume {
	return corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
	}}}
}

func hostPath() corev1.Volume {
	return corev1.Volume{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}
}

func initPrivileged(p *corev1.PodSpec) {
	p.InitContainers = []corev1.Container{{Name: "init", Image: "evil", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}
}

func tokened() corev1.PodSpec {
	spec := hardened()
	spec.AutomountServiceAccountToken = nil
	return spec
}
