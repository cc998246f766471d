package doctor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// nowhere is an API server that does not answer: what is not asked through the client
// of a test cannot be asked.
var nowhere = &rest.Config{Host: "https://127.0.0.1:1"}

func front() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front", Labels: map[string]string{"role": "front"}},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func storefront() *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "storefront"},
		Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "front"}},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}}},
		},
	}
}

func clientWith(t *testing.T, refuse func(object any) error, objects ...client.Object) client.Client {
	t.Helper()
	g := NewWithT(t)
	scheme, err := access.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := refuse(object); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
			if err := refuse(into); err != nil {
				return err
			}
			return c.List(ctx, into, options...)
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("nothing may be created"))
		},
	}).Build()
}

func forbidden(any) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("you may not"))
}

// A user who may read only the Service gets findings that say so, and no error.
func TestWhatMayNotBeReadIsAFinding(t *testing.T) {
	g := NewWithT(t)
	reader := clientWith(t, func(object any) error {
		if _, isService := object.(*corev1.Service); isService {
			return nil
		}
		return forbidden(object)
	}, front())
	c := &collector{Client: reader, config: nowhere, namespace: "shop"}
	world, err := c.collect(t.Context(), &types.NamespacedName{Namespace: "shop", Name: "front"})
	g.Expect(err).NotTo(HaveOccurred())
	report := checkup.Examine(world)
	g.Expect(report.Problems).To(BeZero())
	g.Expect(report.Verdict).To(Equal(checkup.Unclear))
	var said bytes.Buffer
	write(&said, output.Palette(false), &report)
	g.Expect(said.String()).To(ContainSubstring("1 Service checked: it is not known whether the next failover works; see what was \"not checked\".\n"))
	g.Expect(said.String()).NotTo(Or(ContainSubstring("should work"), ContainSubstring("at once")))
	unchecked := map[string]bool{}
	for _, finding := range report.Findings {
		if strings.HasPrefix(finding.What, "not checked: ") {
			unchecked[finding.Check] = true
			g.Expect(finding.Severity).To(Equal(checkup.Warning))
		}
	}
	for _, check := range []string{
		"definition", "operator", "version", "certificate", "permissions", "nodes", "apis", "responder", "budget", "protected", "standby", "consumer",
	} {
		g.Expect(unchecked).To(HaveKey(check))
	}
}

// A Deployment with the operator's labels in another namespace is not examined in its
// place.
func TestLabelsAloneMakeNoOperator(t *testing.T) {
	g := NewWithT(t)
	labelled := func(namespace string) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: installation.Name, Labels: installation.Labels},
			Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: installation.Labels}}},
		}
	}
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	definition.SetName(installation.Definition)
	g.Expect(unstructured.SetNestedField(definition.Object, "operators", "spec", "conversion", "webhook", "clientConfig", "service", "namespace")).To(Succeed())
	imposter := labelled("aaa-attacker")
	found := func(objects ...client.Object) []string {
		reader := clientWith(t, func(any) error { return nil }, append(objects, front())...)
		world, err := (&collector{Client: reader, config: nowhere, namespace: "shop"}).collect(t.Context(), nil)
		g.Expect(err).NotTo(HaveOccurred())
		var namespaces []string
		for _, operator := range world.Operators.Value {
			namespaces = append(namespaces, operator.Namespace)
		}
		return namespaces
	}
	g.Expect(found(imposter, definition, labelled("operators"))).To(ConsistOf("operators"))
	g.Expect(found(imposter, definition)).To(BeEmpty())
	g.Expect(found(imposter, labelled("critical-service-system"))).To(ConsistOf("critical-service-system"))
}

func TestServicesThatMayNotBeListedAreAFinding(t *testing.T) {
	g := NewWithT(t)
	reader := clientWith(t, func(object any) error {
		if _, isList := object.(*corev1.ServiceList); isList {
			return forbidden(object)
		}
		return nil
	}, storefront())
	world, err := (&collector{Client: reader, config: nowhere, namespace: "shop"}).collect(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(checkup.Examine(world).Findings).To(ContainElement(And(
		HaveField("Check", "services"), HaveField("What", ContainSubstring("you may not")),
	)))
}

func TestOnlyWhatIsCriticalIsChecked(t *testing.T) {
	g := NewWithT(t)
	other, elsewhere := front(), front()
	other.Name, other.Labels = "other", nil
	elsewhere.Namespace = "elsewhere"
	reader := clientWith(t, func(any) error { return nil }, front(), other, elsewhere, storefront())
	checked := func(namespace string, only *types.NamespacedName) []string {
		world, err := (&collector{Client: reader, config: nowhere, namespace: namespace}).collect(t.Context(), only)
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, service := range world.Services {
			names = append(names, service.Namespace+"/"+service.Name)
		}
		return names
	}
	g.Expect(checked("shop", nil)).To(ConsistOf("shop/front"))
	g.Expect(checked("", nil)).To(ConsistOf("shop/front", "elsewhere/front"))
	g.Expect(checked("shop", &types.NamespacedName{Namespace: "shop", Name: "other"})).To(ConsistOf("shop/other"), "what was named is checked")
	_, err := (&collector{Client: reader, config: nowhere}).collect(t.Context(), &types.NamespacedName{Namespace: "shop", Name: "missing"})
	g.Expect(err).To(MatchError(`there is no Service "missing" in namespace "shop": choose the namespace by -n`))
}

// The operator counts none that is being deleted, and makes the next one govern.
func TestACriticalServiceThatIsBeingDeletedGovernsNothing(t *testing.T) {
	g := NewWithT(t)
	leaving := storefront()
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/keep"}
	only := clientWith(t, func(any) error { return nil }, front(), leaving)
	world, err := (&collector{Client: only, config: nowhere, namespace: "shop"}).collect(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(world.Services).To(BeEmpty(), "the Service is not critical any more")

	next := storefront()
	next.Name = "zz-next"
	both := clientWith(t, func(any) error { return nil }, front(), leaving, next)
	world, err = (&collector{Client: both, config: nowhere, namespace: "shop"}).collect(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(world.Governor(world.Services[0]).GetName()).To(Equal("zz-next"))
}

// The standby of a page is asked as the self-test asks it; Pods of a backup Service
// are not asked by the number of a port.
func TestAStandbyIsAskedAsTheSelfTestAsks(t *testing.T) {
	for kind, want := range map[string]string{criticalv2.FallbackKindPage: "http", criticalv2.FallbackKindService: "tcp"} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			service := front()
			service.Spec.Ports[0].Name, service.Spec.Ports[0].Port = "x", 6379
			if kind == criticalv2.FallbackKindPage {
				service.Spec.Ports[0].Port = 9000
			}
			slice := &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front-standby-ipv4", Labels: map[string]string{
					discoveryv1.LabelServiceName: "front", discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: kind,
				}},
				Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "spare-1"}}},
				Ports:     []discoveryv1.EndpointPort{{Name: new("x"), Port: new(int32(20001))}},
			}
			reader := clientWith(t, func(any) error { return nil }, service, storefront(), slice)
			world, err := (&collector{Client: reader, config: nowhere, namespace: "shop"}).collect(t.Context(), nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(world.Services[0].Answers).To(ConsistOf(HaveField("Protocol", want)))
		})
	}
}

func TestAClusterThatDoesNotAnswerIsAnError(t *testing.T) {
	g := NewWithT(t)
	reader := clientWith(t, func(any) error { return errors.New("connection refused") })
	_, err := (&collector{Client: reader, config: nowhere}).collect(t.Context(), nil)
	g.Expect(err).To(MatchError(ContainSubstring("connection refused")))
}

// A standby that cannot be asked, because the user may not forward ports, is not a
// standby that does not answer.
func TestAStandbyThatCannotBeAskedIsNotSilent(t *testing.T) {
	g := NewWithT(t)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front-standby-ipv4", Labels: map[string]string{
			discoveryv1.LabelServiceName: "front", discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
			criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
		}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "responder-1"}}},
		Ports:     []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(20001))}},
	}
	backup := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "responder-1"}}
	reader := clientWith(t, func(any) error { return nil }, front(), storefront(), slice, backup)
	world, err := (&collector{Client: reader, config: nowhere, namespace: "shop"}).collect(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(world.Services[0].Answers).To(ConsistOf(And(
		HaveField("Pod", "responder-1"), HaveField("Port", "80"), HaveField("Protocol", "http"), HaveField("Unchecked", Not(BeEmpty())),
	)))
	g.Expect(world.Services[0].Home.Fallbacks.Value).To(ConsistOf(HaveField("Name", "responder-1")), "the Pods of a backup Service, too")
}

func TestARouteOfTheGatewayAPI(t *testing.T) {
	g := NewWithT(t)
	var route unstructured.Unstructured
	g.Expect(yaml.Unmarshal([]byte(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: shop, name: web}
spec:
  parentRefs:
  - name: here
  - {name: edge, namespace: infra}
  - {name: mesh, kind: Service, group: ""}
  rules:
  - backendRefs:
    - {name: front, port: 80}
    - {name: bucket, kind: Bucket}
  - backendRefs:
    - {name: front, namespace: spare, port: 80}
  - {}
`), &route.Object)).To(Succeed())
	g.Expect(routeOf(&route)).To(Equal(checkup.Route{
		Kind: "HTTPRoute", Namespace: "shop", Name: "web",
		Parents: []string{"shop/here", "infra/edge"}, Backends: []string{"shop/front", "spare/front"},
	}))
}

func TestAKindThatTheClusterDoesNotHaveHasNoObjects(t *testing.T) {
	g := NewWithT(t)
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Thing"}}
	g.Expect(reading(1, missing)).To(Equal(checkup.Reading[int]{Missing: true}))
	reader := clientWith(t, func(any) error { return missing })
	var pods corev1.PodList
	g.Expect(list(t.Context(), reader, &pods, func() []corev1.Pod { return pods.Items }).Missing).To(BeFalse())
}

func TestWhatARuntimeSaysOfAPortIsSaidPlainly(t *testing.T) {
	for words, want := range map[string]string{
		"":              "",
		"Pod not found": "Pod not found",
		`error forwarding port 20001 to pod 0123abc, uid : failed to execute portforward in network namespace "/var/run/netns/cni-1": failed to connect to localhost:20001 ` +
			`inside namespace "0123abc", IPv4: dial tcp4 127.0.0.1:20001: connect: connection refused IPv6 dial tcp6 [::1]:20001: connect: connection refused `: "connection refused",
	} {
		NewWithT(t).Expect(plainly(words)).To(Equal(want))
	}
}

// What the documentation shows is what is printed.
func TestTheReportReadsAsDocumented(t *testing.T) {
	g := NewWithT(t)
	const web = "service/shop/web"
	report := &checkup.Report{
		Verdict: checkup.Problem, Services: 1, Problems: 1, Warnings: 1,
		Findings: []checkup.Finding{
			{Check: "operator", Subject: checkup.Installation, Severity: checkup.OK, What: "the operator runs: 1 of 1 Pods available (Deployment critical-service-system/critical-service-operator, image quay.io/critical-service/operator:v0.5.0)"},
			{
				Check: "network-policy", Subject: web, Severity: checkup.Problem,
				What: "NetworkPolicy deny-all allows no connection to TCP port 20001 of Pod critical-service-responder-a, which stands by for port http (80)",
				Why:  "no client gets an answer in an outage,\nwhere the network enforces policies",
				Fix:  "allow ingress to Pods with the label mycrd.com/responder=server at TCP port 20001 from all clients of the application",
			},
			{
				Check: "consumer", Subject: web, Severity: checkup.Warning,
				What: "Ingress web (class nginx, ingress-nginx) reaches the fallback when the operator has promoted it",
				Why:  "its clients wait for an operator that runs, and there is only one replica, or none, or it was not found",
				Fix:  `set 2 replicas of the operator, so that one is always there; or set the annotation nginx.ingress.kubernetes.io/service-upstream: "true" on Ingress web, so that it sends to the Service (it then balances no more by itself)`,
			},
			{Check: "protected", Subject: web, Severity: checkup.OK, What: "CriticalService storefront (tier Default): the Service is Armed (StandbyReady)"},
			{Check: "listening", Subject: web, Severity: checkup.OK, What: "the standby answers: http: http 503"},
			{Check: "budget", Subject: "namespace/shop", Severity: checkup.OK, What: "the 2 Pods that stand in are under one PodDisruptionBudget each, or none"},
		},
	}
	var out bytes.Buffer
	write(&out, output.Palette(false), report)
	documented, err := os.ReadFile("../../../../docs/plugin.md")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(documented)).To(ContainSubstring("$ kubectl critsvc doctor -n shop\n"+out.String()+"```"), out.String())
}
