package monitoring_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/controllers/monitoring"
	"github.com/critical-service/operator/controllers/monitoring/internal/render"
	"github.com/critical-service/operator/test/testenv"
)

func TestTheObjectsComeWithTheFirstPolicyAndGoWithTheLast(t *testing.T) {
	w := newWorld(t)
	w.installPrometheusOperator()
	w.start(nil)
	w.rounds(2)
	w.Expect(w.there()).To(BeEmpty(), "there is no policy yet")

	platform := w.platform()
	w.Eventually(w.there).Should(Equal(all))
	for _, kind := range all {
		w.Expect(w.now(kind).GetOwnerReferences()).To(BeEmpty())
		w.Expect(w.now(kind).GetLabels()).To(HaveKeyWithValue(render.LabelManagedBy, render.Manager))
	}
	team := w.team()
	w.Delete(platform)
	w.rounds(2)
	w.Expect(w.there()).To(Equal(all), "a team's policy is left")
	w.Delete(team)
	w.Eventually(w.there).Should(BeEmpty())
	w.Eventually(func() int { return w.lines("removed from monitoring") }).Should(Equal(len(all)))
}

// Those of teams do not count where they are not watched.
func TestWithoutTenantsOnlyTheirPoliciesAreLeft(t *testing.T) {
	w := newWorld(t)
	w.installPrometheusOperator()
	w.team()
	platform := w.platform()
	w.start(func(o *monitoring.Options) { o.NoTenants = true })
	w.Eventually(w.there).Should(Equal(all))
	w.Delete(platform)
	w.Eventually(w.there).Should(BeEmpty())
}

func TestThePrometheusOperatorMayComeLater(t *testing.T) {
	w := newWorld(t)
	w.platform()
	w.start(nil)
	w.rounds(2)
	w.Expect(w.there()).To(BeEmpty())
	w.installPrometheusOperator()
	w.Eventually(w.there).Should(Equal(all))

	for _, definition := range definitions(w) {
		w.Delete(definition)
	}
	w.Eventually(w.there).Should(BeEmpty(), "the dashboard goes as well")
	w.Expect(w.lines("monitoring is not complete")).To(BeZero(), "nothing of this is a problem")
}

func TestNothingIsWrittenInAWorldThatStandsStill(t *testing.T) {
	w := monitored(t)
	w.rounds(1)
	before := map[string]string{}
	for _, kind := range all {
		before[kind] = w.now(kind).GetResourceVersion()
	}
	written := w.lines("applied for monitoring")
	w.Expect(written).To(Equal(len(all)))
	w.rounds(3)
	for _, kind := range all {
		w.Expect(w.now(kind).GetResourceVersion()).To(Equal(before[kind]), kind)
	}
	w.Expect(w.lines("applied for monitoring")).To(Equal(written))
}

func TestDriftIsRepaired(t *testing.T) {
	w := monitored(t)

	wanted := w.object("PrometheusRule").Object["spec"]
	w.patch(w.now("PrometheusRule"), `{"metadata":{"labels":{"release":"prometheus"}},"spec":{"groups":[]}}`)
	w.Eventually(func() any { return w.now("PrometheusRule").Object["spec"] }).Should(Equal(wanted))
	w.Expect(w.now("PrometheusRule").GetLabels()).To(HaveKeyWithValue("release", "prometheus"), "what a user adds stays")

	w.Delete(w.now("ServiceMonitor"))
	w.Eventually(w.there).Should(Equal(all))
}

func TestWhatOthersKeepStays(t *testing.T) {
	w := newWorld(t)
	w.installPrometheusOperator()
	chart := w.object("PodMonitor")
	chart.SetLabels(map[string]string{render.LabelManagedBy: "Helm"})
	w.Create(chart)
	dashboard := w.object("ConfigMap")
	dashboard.SetLabels(map[string]string{"grafana_dashboard": "1"})
	w.Create(dashboard)
	copied := w.object("ServiceMonitor")
	w.Create(copied)
	policy := w.platform()
	w.start(nil)
	w.Eventually(w.there).Should(Equal(all))
	w.rounds(2)

	// An administrator takes over what the operator made.
	w.patch(w.now("PrometheusRule"), `{"metadata":{"labels":{"`+render.LabelManagedBy+`":"platform-team"}},"spec":{"groups":[]}}`)
	w.rounds(2)
	w.Delete(policy)
	w.rounds(2)
	w.Expect(w.there()).To(Equal(all))
	for _, before := range []*unstructured.Unstructured{chart, dashboard, copied} {
		w.Expect(w.now(before.GetKind()).GetResourceVersion()).To(Equal(before.GetResourceVersion()), before.GetKind())
		w.Eventually(w.EventsOf(before, "MonitoringLeftAlone")).Should(HaveLen(1))
		w.Expect(w.lines("leaving an object of monitoring alone", before.GetKind())).To(Equal(1), "it is logged once")
	}
	w.Expect(w.now("PrometheusRule").Object["spec"]).To(Equal(map[string]any{"groups": []any{}}))
	for _, kind := range all {
		w.Delete(w.now(kind))
	}
}

func TestOffRemovesWhatWasApplied(t *testing.T) {
	w := monitored(t)
	w.operator.Stop(t)
	w.start(func(o *monitoring.Options) { o.Off = true })
	w.Eventually(w.there).Should(BeEmpty())
}

// What goes wrong is logged once, holds nothing else up, and is tried again.
func TestAProblemIsReportedOnceAndTriedAgain(t *testing.T) {
	refused := func(r testenv.Request) bool { return r.Method == http.MethodPatch && r.Resource() == "prometheusrules" }
	for sentence, test := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		about  string
		lost   func(testenv.Request) bool
		there  []string
	}{
		"a definition that knows other fields": {
			change: func(definition *apiextensionsv1.CustomResourceDefinition) {
				if definition.Spec.Names.Kind == "PrometheusRule" {
					schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
					spec := schema.Properties["spec"]
					spec.Required = append(spec.Required, "limits")
					spec.Properties["limits"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
					schema.Properties["spec"] = spec
				}
			},
			about: "spec.limits",
			there: []string{"ConfigMap", "PodMonitor", "ServiceMonitor"},
		},
		"an answer that is lost": {lost: refused, about: "apply it", there: []string{"ConfigMap", "PodMonitor", "ServiceMonitor"}},
		"a read that is lost": {
			lost:  func(r testenv.Request) bool { return r.Resource() == "prometheusrules" && r.Method == http.MethodGet },
			about: "read it", there: []string{"ConfigMap", "PodMonitor", "ServiceMonitor"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			if test.change == nil {
				test.change = func(*apiextensionsv1.CustomResourceDefinition) {}
			}
			w.installPrometheusOperator(test.change)
			w.platform()
			w.start(nil, func(r testenv.Request) testenv.Verdict {
				if test.lost != nil && test.lost(r) {
					return testenv.Lose
				}
				return testenv.Pass
			})
			w.Eventually(w.there).Should(Equal(test.there))
			w.rounds(3)
			w.Expect(w.lines("monitoring is not complete", "PrometheusRule", test.about)).To(Equal(1))
		})
	}
}

func TestWithoutPermissionTheOperatorGoesOn(t *testing.T) {
	w := newWorld(t)
	w.installPrometheusOperator()
	w.platform()
	// The generated Role is for one namespace.
	w.start(func(o *monitoring.Options) { o.Namespace = w.Namespace })
	w.Eventually(func() int { return w.lines("monitoring is not complete", "forbidden") }).Should(Equal(len(all)))
	w.rounds(3)
	w.Expect(w.lines("monitoring is not complete", "forbidden")).To(Equal(len(all)))
}

// The names are all that the permissions are for, also where something is created.
func TestThePermissionsAreForTheNames(t *testing.T) {
	w := newWorld(t)
	w.installPrometheusOperator()
	config := rest.CopyConfig(w.Cluster.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: testenv.OperatorUser.Name, Groups: testenv.OperatorUser.Groups}
	thief, err := client.New(config, client.Options{})
	w.Expect(err).NotTo(HaveOccurred())
	for _, kind := range all {
		other := w.object(kind)
		other.SetName("another")
		if kind != "ConfigMap" { // The responder controller creates those in any namespace.
			w.Expect(thief.Create(t.Context(), other)).To(MatchError(ContainSubstring("forbidden")), kind)
		}
		elsewhere := w.object(kind)
		elsewhere.SetNamespace("default")
		err := thief.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(elsewhere), client.FieldOwner("thief"))
		w.Expect(err).To(MatchError(ContainSubstring("forbidden")), kind)
	}
}

// Prometheus shows its token to whom a ServiceMonitor names.
func TestAStolenTokenLeadsPrometheusNowhereElse(t *testing.T) {
	w := monitored(t)
	w.Cluster.Since(t, testenv.PoliciesSince, "ValidatingAdmissionPolicies")
	config := rest.CopyConfig(w.Cluster.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: testenv.OperatorUser.Name, Groups: testenv.OperatorUser.Groups}
	thief, err := client.New(config, client.Options{})
	w.Expect(err).NotTo(HaveOccurred())
	for attempt, c := range map[string]struct{ kind, patch, says string }{
		"a Service of any namespace":       {"ServiceMonitor", `[{"op":"add","path":"/spec/namespaceSelector","value":{"any":true}}]`, "no other Service"},
		"any Service of its own namespace": {"ServiceMonitor", `[{"op":"remove","path":"/spec/selector/matchLabels"}]`, "no other Service"},
		"another Service":                  {"ServiceMonitor", `[{"op":"replace","path":"/spec/selector/matchLabels/app.kubernetes.io~1name","value":"evil"}]`, "no other Service"},
		"a proxy":                          {"ServiceMonitor", `[{"op":"add","path":"/spec/endpoints/0/proxyUrl","value":"http://evil.example.com"}]`, "no other Service"},
		"another address": {
			"ServiceMonitor", `[{"op":"add","path":"/spec/endpoints/0/relabelings","value":[{"targetLabel":"__address__","replacement":"evil.example.com"}]}]`, "no other Service",
		},
		"another token":             {"ServiceMonitor", `[{"op":"replace","path":"/spec/endpoints/0/bearerTokenFile","value":"/etc/prometheus/secrets/other/token"}]`, "no other Service"},
		"a token that all can read": {"ServiceMonitor", `[{"op":"replace","path":"/spec/endpoints/0/scheme","value":"http"}]`, "no other Service"},
		"a class of scraping":       {"ServiceMonitor", `[{"op":"add","path":"/spec/scrapeClass","value":"evil"}]`, "no other Service"},
		"another path":              {"ServiceMonitor", `[{"op":"replace","path":"/spec/endpoints/0/path","value":"/evil"}]`, "no other Service"},
		"other Pods":                {"PodMonitor", `[{"op":"replace","path":"/spec/selector","value":{}}]`, "no other Pods"},
		"Pods by a proxy":           {"PodMonitor", `[{"op":"add","path":"/spec/podMetricsEndpoints/0/proxyUrl","value":"http://evil.example.com"}]`, "no other Pods"},
	} {
		t.Run(attempt, func(t *testing.T) {
			NewWithT(t).Eventually(func() error {
				return thief.Patch(t.Context(), w.object(c.kind), client.RawPatch(types.JSONPatchType, []byte(c.patch)), client.DryRunAll)
			}).WithTimeout(time.Minute).Should(MatchError(ContainSubstring(c.says)))
		})
	}
}

func (w *world) patch(object client.Object, patch string) {
	w.T.Helper()
	w.Expect(w.Cluster.Client.Patch(w.T.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}
