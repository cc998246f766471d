package checks

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/evidence"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/suite/suitetest"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
)

// waitTimeout is for a machine that is busy: what comes takes milliseconds.
const waitTimeout = time.Minute

// newWorld is a world for a test, with a bundle that is in order.
func newWorld(t *testing.T, check suite.Check) *world.World {
	t.Helper()
	return world.New(check.Name, &world.Surroundings{
		Operator: Suite.Operator, Client: tester, Self: self, Bundle: newBundle(t, goodExamples), Evidence: evidence.Folder(t.TempDir()),
		AwaitTimeout: waitTimeout, Warnings: &world.Warnings{},
	}, verdict.NewJournal())
}

const goodExamples = `[
	{"apiVersion": "mycrd.com/v1", "kind": "CriticalService", "metadata": {"name": "a"}, "spec": {"matchLabels": [{"key": "a", "value": "b"}]}},
	{"apiVersion": "mycrd.com/v2", "kind": "CriticalService", "metadata": {"name": "b"}, "spec": {"serviceSelector": {"matchLabels": {"a": "b"}}}},
	{"apiVersion": "mycrd.com/v2", "kind": "ServiceFallback", "metadata": {"namespace": "default", "name": "c"}, "spec": {"services": ["a"]}},
	{"apiVersion": "mycrd.com/v2", "kind": "Maintenance", "metadata": {"namespace": "default", "name": "d"}, "spec": {"services": ["a"]}}
]`

// newBundle writes a bundle that offers these examples.
func newBundle(t *testing.T, examples string) string {
	t.Helper()
	folder := t.TempDir()
	template, err := os.ReadFile(filepath.Join("testdata", "clusterserviceversion.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(examples)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(template), "EXAMPLES", string(quoted))
	if err := os.Mkdir(filepath.Join(folder, "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "manifests", "clusterserviceversion.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestEveryTestPassesWithAnOperatorThatDoesWhatItShould(t *testing.T) {
	t.Parallel()
	for _, check := range Suite.Checks {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newWorld(t, check)
			operator := &understudy{namespace: w.Namespace}
			w.Transport = operator
			operator.play(t)

			got := suitetest.Run(t, check, w)
			g.Expect(got.Errors).To(BeEmpty(), got.Log)
			g.Expect(got.State).To(Equal(v1alpha3.PassState), got.Log)
			g.Expect(got.Suggestions).To(BeEmpty())
			g.Expect(got.Name).To(Equal(check.Name))
			g.Expect(filepath.Join(string(w.Evidence), "journal.txt")).To(BeARegularFile())
			if check.Name != "refusal" { // It makes nothing.
				g.Expect(filepath.Join(string(w.Evidence), "at-the-end", "endpointslices.yaml")).To(BeARegularFile())
			}
			nothingIsLeft(g, w)
		})
	}
}

// nothingIsLeft: an API server alone does not end a namespace, but marks it as terminating.
func nothingIsLeft(g *WithT, w *world.World) {
	var policies criticalv2.CriticalServiceList
	g.Expect(admin.List(context.Background(), &policies, client.MatchingLabels(w.Selector()))).To(Succeed())
	g.Expect(policies.Items).To(BeEmpty(), "CriticalServices of the test")
	var namespaces corev1.NamespaceList
	g.Expect(admin.List(context.Background(), &namespaces, client.MatchingLabels(w.Selector()))).To(Succeed())
	for _, namespace := range namespaces.Items {
		g.Expect(namespace.DeletionTimestamp).NotTo(BeNil(), "namespace %s is not being deleted", namespace.Name)
	}
}

func TestEveryTestFailsAtOnceWithoutAnOperator(t *testing.T) {
	t.Parallel()
	for sentence, without := range map[string]struct {
		client     client.Client
		problem    string
		suggestion string
	}{
		"No Pod of the operator is there.": {
			client: intercept(func(list client.ObjectList, options *client.ListOptions) error {
				if pods, are := list.(*corev1.PodList); are && options.Namespace == "" {
					pods.Items = nil
				}
				return nil
			}),
			problem: "it is not installed, or scaled to zero", suggestion: "Install the operator in this cluster first",
		},
		"The API server does not know CriticalServices.": {
			client: intercept(func(list client.ObjectList, _ *client.ListOptions) error {
				if _, are := list.(*criticalv2.CriticalServiceList); are {
					return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "mycrd.com", Kind: "CriticalService"}}
				}
				return nil
			}),
			problem: "the operator is not installed", suggestion: "Install the operator in this cluster first",
		},
		"The test may do nothing.": {
			client: unprivileged, problem: `User "unprivileged" cannot list`, suggestion: "config/scorecard/rbac.yaml",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for _, check := range Suite.Checks {
				g := NewWithT(t)
				w := newWorld(t, check)
				w.Client, w.Surroundings.Client = without.client, without.client

				got := suitetest.Run(t, check, w)
				g.Expect(got.State).To(Equal(v1alpha3.ErrorState), "nothing is known of the operator")
				g.Expect(got.Errors).To(ConsistOf(ContainSubstring(without.problem)))
				g.Expect(got.Suggestions).To(ConsistOf(ContainSubstring(without.suggestion)))
				g.Expect(got.Log).To(ContainSubstring(check.Sentence))
			}
		})
	}
}

// intercept is a client that changes, or refuses, what a list gives.
func intercept(change func(client.ObjectList, *client.ListOptions) error) client.Client {
	return interceptor.NewClient(tester, interceptor.Funcs{
		List: func(ctx context.Context, to client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := to.List(ctx, list, options...); err != nil {
				return err
			}
			return change(list, (&client.ListOptions{}).ApplyOptions(options))
		},
	})
}

// withoutConversion is a client of an API server that cannot reach the operator.
func withoutConversion() client.Client {
	return interceptor.NewClient(tester, interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if object.GetObjectKind().GroupVersionKind().Version == "v1" && object.GetObjectKind().GroupVersionKind().Group == "mycrd.com" {
				return errors.New("conversion webhook for mycrd.com/v1 failed")
			}
			return to.Create(ctx, object, options...)
		},
	})
}

// withoutValidation is a client of an API server that the operator's validation does not answer.
func withoutValidation() client.Client {
	return interceptor.NewClient(tester, interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
			err := to.Create(ctx, object, options...)
			if err != nil && strings.Contains(err.Error(), unlikely.Message) {
				return nil
			}
			return err
		},
	})
}

// bad is an operator that does something wrong, and what a test must say of it.
type bad struct {
	operator understudy
	test     string
	// deaf: the operator's webhook does not answer where v1 is to be converted.
	deaf bool
	// mild: it does not where an object is to be judged.
	mild bool
	// awaited and seen are what the test waits for, and what it sees instead, after it has come so far.
	awaited, seen, after string
	suggestion           string
}

var badOperators = map[string]bad{
	"An operator that does nothing arms nothing.": {
		operator: understudy{absent: true}, test: "armed",
		awaited: "a status that says Armed of Service shop", seen: "the status does not name the Service", suggestion: "kubectl logs",
	},
	"An operator that may not write EndpointSlices arms nothing.": {
		operator: understudy{mute: true}, test: "armed",
		awaited: "a status that says Armed of Service shop", seen: "the Service is Arming, SlicePending: endpointslices is forbidden",
		suggestion: "Look up the reason SlicePending",
	},
	"What the operator says is not believed: the slice counts.": {
		operator: understudy{boasting: true}, test: "armed",
		awaited: "an EndpointSlice of the operator's for Service shop", seen: "the operator has published no endpoint",
		suggestion: "May the operator write EndpointSlices?",
	},
	"An outage that is not promoted is not answered for everybody.": {
		operator: understudy{slow: true}, test: "outage",
		awaited: "endpoints ready=true serving=true terminating=false", seen: "1 EndpointSlices of the operator's, with endpoints ready=false serving=true terminating=true",
		after: "There is a status that says Covered", suggestion: "May the operator write EndpointSlices?",
	},
	"A fallback that is published and does not answer is no fallback.": {
		operator: understudy{silent: true}, test: "outage",
		awaited: "a row of 20 requests that the fallback answered", seen: "no one answers (dial tcp",
		after: "There is an EndpointSlice of the operator's for Service shop with endpoints ready=true", suggestion: "NetworkPolicy",
	},
	"A fallback that stays promoted is not withdrawn.": {
		operator: understudy{clinging: true}, test: "recovery",
		awaited: "endpoints ready=false serving=true terminating=true", seen: "1 EndpointSlices of the operator's, with endpoints ready=true serving=true terminating=false",
		after: "scales Deployment shop to 1", suggestion: "May the operator write EndpointSlices?",
	},
	"An operator whose webhook does not answer converts nothing.": {
		deaf: true, test: "conversion",
		awaited: "an API server that accepts v1", seen: "conversion webhook for mycrd.com/v1 failed", suggestion: "Does its webhook answer",
	},
	"Nor can it be tested whether v1 is refused for the right reason.": {
		deaf: true, test: "refusal",
		awaited: "an API server that accepts v1", seen: "conversion webhook for mycrd.com/v1 failed", suggestion: "Does its webhook answer",
	},
	"What only the operator's webhook refuses must be refused.": {
		mild: true, test: "refusal",
		awaited: "a refusal by the operator's webhook of a label that no Service can have", seen: "{serviceSelector: {matchLabels: {role: 'a b'}}} is accepted",
		suggestion: "validatingwebhookconfigurations",
	},
	"What is left after the deletion is named.": {
		operator: understudy{messy: true}, test: "deletion",
		awaited: "nothing left of what the operator made", seen: "2 left: ConfigMap critical-service-responder, EndpointSlice shop-standby-ipv4",
		suggestion: "may it delete them?",
	},
}

func TestNoTestPassesWithAnOperatorThatDoesSomethingElse(t *testing.T) {
	t.Parallel()
	for sentence, bad := range badOperators {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			check := suitetest.Check(t, Suite, bad.test)
			w := newWorld(t, check)
			if bad.deaf {
				w.Client = withoutConversion()
			}
			if bad.mild {
				w.Client = withoutValidation()
			}
			operator := &bad.operator
			operator.namespace, w.Transport = w.Namespace, operator
			operator.play(t)

			got := suitetest.UntilSeen(t, check, w, bad.after, "Seen: "+bad.seen)
			g.Expect(got.State).To(Equal(v1alpha3.FailState), got.Log)
			g.Expect(got.Errors).To(ConsistOf(And(ContainSubstring(bad.awaited), ContainSubstring("last seen: "+bad.seen))))
			g.Expect(got.Suggestions).To(ConsistOf(ContainSubstring(bad.suggestion)))
			nothingIsLeft(g, w)
		})
	}
}

func TestWhatNeedsNoWaitingFailsAtOnce(t *testing.T) {
	t.Parallel()
	for sentence, bad := range map[string]struct {
		operator            understudy
		test, bundle        string
		state               v1alpha3.State
		problem, suggestion string
	}{
		"An operator of other namespaces cannot be tested.": {
			operator: understudy{elsewhere: true}, test: "armed", state: v1alpha3.ErrorState,
			problem: "NAMESPACES names others.", suggestion: "leave its setting NAMESPACES empty",
		},
		"An address that is no fallback's may not be published.": {
			operator: understudy{astray: true}, test: "armed", state: v1alpha3.FailState,
			problem: "publishes 10.9.9.9", suggestion: "please report it",
		},
		"A Deployment beyond Pod Security restricted is named, with what is forbidden.": {
			operator: understudy{lax: true}, test: "restricted", state: v1alpha3.FailState,
			problem: "the template of Deployment critical-service-responder: host namespaces (hostNetwork=true)", suggestion: "please report it",
		},
		"An example that is not valid is refused.": {
			test: "conversion", state: v1alpha3.FailState,
			bundle:  strings.Replace(goodExamples, `"matchLabels": {"a": "b"}`, ``, 1),
			problem: "an empty selector would make every Service of the cluster critical", suggestion: "config/samples",
		},
		"Every version has an example.": {
			test: "conversion", state: v1alpha3.FailState,
			bundle:  strings.Replace(goodExamples, "mycrd.com/v1", "mycrd.com/v2", 1),
			problem: "the bundle has no example of a CriticalService of v1", suggestion: "config/samples",
		},
		"Every kind has an example.": {
			test: "conversion", state: v1alpha3.FailState,
			bundle:  strings.Replace(goodExamples, "Maintenance", "ServiceFallback", 1),
			problem: "the bundle has no example of a Maintenance of v2", suggestion: "config/samples",
		},
		"An example of a team's is judged as well.": {
			test: "conversion", state: v1alpha3.FailState,
			bundle:  strings.Replace(goodExamples, `"services": ["a"]`, `"services": []`, 1),
			problem: "should have at least 1 items", suggestion: "config/samples",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			check := suitetest.Check(t, Suite, bad.test)
			w := newWorld(t, check)
			if bad.bundle != "" {
				w.Bundle = newBundle(t, bad.bundle)
			}
			operator := &bad.operator
			operator.namespace, w.Transport = w.Namespace, operator
			operator.play(t)

			got := suitetest.Run(t, check, w)
			g.Expect(got.State).To(Equal(bad.state), got.Log)
			g.Expect(got.Errors).To(ContainElement(ContainSubstring(bad.problem)), got.Log)
			g.Expect(got.Suggestions).To(ContainElement(ContainSubstring(bad.suggestion)))
			nothingIsLeft(g, w)
		})
	}
}

func TestATestThatIsStoppedCleansUpAndSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	check := suitetest.Check(t, Suite, "armed")
	w := newWorld(t, check)
	operator := &understudy{absent: true, namespace: w.Namespace}
	w.Transport = operator
	operator.play(t)

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan v1alpha3.TestStatus, 1)
	go func() { ended <- check.In(ctx, w) }()
	g.Eventually(w.Journal.String).WithTimeout(waitTimeout).Should(ContainSubstring("makes the CriticalService"))
	stop()
	var status v1alpha3.TestStatus
	g.Eventually(ended).WithTimeout(waitTimeout).Should(Receive(&status))
	g.Expect(status.Results).To(HaveLen(1))
	got := status.Results[0]
	g.Expect(got.State).To(Equal(v1alpha3.ErrorState))
	g.Expect(got.Errors).To(ConsistOf(ContainSubstring("stopped")))
	g.Expect(got.Suggestions).To(ConsistOf(ContainSubstring("--wait-time")))
	nothingIsLeft(g, w)
}

func TestATestThatPanicsCleansUpAndSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	broken := suite.Check{Name: "broken", Run: func(ctx context.Context, w *world.World) error {
		g.Expect(w.MakeNamespace(ctx)).To(Succeed())
		panic("no way out")
	}}
	w := newWorld(t, broken)
	got := suitetest.Run(t, broken, w)
	g.Expect(got.State).To(Equal(v1alpha3.ErrorState))
	g.Expect(got.Errors).To(ConsistOf(ContainSubstring("no way out")))
	nothingIsLeft(g, w)
}
