package checks

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/evidence"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/suite/suitetest"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// waitTimeout is for a machine that is busy: what comes takes milliseconds.
const waitTimeout = time.Minute

// newWorld is a world for a test, with the bundle of the repository.
func newWorld(t *testing.T, check suite.Check) *world.World {
	t.Helper()
	return world.New(check.Name, &world.Surroundings{
		Operator: Suite.Operator, Client: tester, Self: self, Bundle: testenv.Path("workloads/bundle"), Evidence: evidence.Folder(t.TempDir()),
		AwaitTimeout: waitTimeout, Warnings: &world.Warnings{},
	}, verdict.NewJournal())
}

// nothingIsLeft: an API server alone does not end a namespace, but marks it as terminating.
func nothingIsLeft(g *WithT, w *world.World) {
	var namespaces corev1.NamespaceList
	g.Expect(cluster.Client.List(context.Background(), &namespaces, client.MatchingLabels(w.Selector()))).To(Succeed())
	for _, namespace := range namespaces.Items {
		g.Expect(namespace.DeletionTimestamp).NotTo(BeNil(), "namespace %s is not being deleted", namespace.Name)
	}
}

func TestEveryTestPassesWithTheOperator(t *testing.T) {
	t.Parallel()
	for _, check := range Suite.Checks {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newWorld(t, check)
			operate(t, w.Namespace, true)
			(&hands{namespace: w.Namespace}).play(t)

			got := suitetest.Run(t, check, w)
			g.Expect(got.Errors).To(BeEmpty(), got.Log)
			g.Expect(got.State).To(Equal(v1alpha3.PassState), got.Log)
			g.Expect(got.Suggestions).To(BeEmpty())
			g.Expect(filepath.Join(string(w.Evidence), "journal.txt")).To(BeARegularFile())
			nothingIsLeft(g, w)
		})
	}
}

// noFallbacks is a client of an API server without the first operator.
func noFallbacks() client.Client {
	return interceptor.NewClient(tester, interceptor.Funcs{
		List: func(ctx context.Context, to client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, are := list.(*criticalv2.ServiceFallbackList); are {
				return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "mycrd.com", Kind: "ServiceFallback"}}
			}
			return to.List(ctx, list, options...)
		},
	})
}

func TestEveryTestPassesWithoutTheFirstOperator(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"database", "protected", "deletion"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			check := suitetest.Check(t, Suite, name)
			w := newWorld(t, check)
			w.Client, w.Surroundings.Client = noFallbacks(), noFallbacks()
			operate(t, w.Namespace, false)
			(&hands{namespace: w.Namespace, deaf: true}).play(t)

			got := suitetest.Run(t, check, w)
			g.Expect(got.Errors).To(BeEmpty(), got.Log)
			g.Expect(got.State).To(Equal(v1alpha3.PassState), got.Log)
		})
	}
}

func TestATestWithoutPermissionsSaysHowToGetThem(t *testing.T) {
	t.Parallel()
	for _, check := range Suite.Checks {
		g := NewWithT(t)
		w := newWorld(t, check)
		w.Client, w.Surroundings.Client = unprivileged, unprivileged
		got := suitetest.Run(t, check, w)
		g.Expect(got.State).To(Equal(v1alpha3.ErrorState), "nothing is known of the operator")
		g.Expect(got.Errors).To(ConsistOf(ContainSubstring(`User "unprivileged" cannot list`)))
		g.Expect(got.Suggestions).To(ConsistOf(ContainSubstring("config/scorecard/rbac.yaml")))
	}
}

// seen is a client that sees objects as others than they are: what a bad operator makes.
func seen(as func(client.Object)) client.Client {
	return interceptor.NewClient(tester, interceptor.Funcs{
		Get: func(ctx context.Context, to client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := to.Get(ctx, key, object, options...); err != nil {
				return err
			}
			as(object)
			return nil
		},
	})
}

// see is seen of one kind.
func see[T client.Object](as func(T)) client.Client {
	return seen(func(object client.Object) {
		if of, is := object.(T); is {
			as(of)
		}
	})
}

// created is a client whose creations of some objects end otherwise than the API server says.
func created(otherwise func(object client.Object, err error) error) client.Client {
	return interceptor.NewClient(tester, interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return otherwise(object, to.Create(ctx, object, options...))
		},
	})
}

func isFirst(object client.Object) bool {
	kind := object.GetObjectKind().GroupVersionKind()
	return kind.Version == "v1" && kind.Kind == "AppConfig"
}

// bad is an operator, or a cluster, that does something wrong, and what a test must say of it.
type bad struct {
	test string
	// absent: no operator runs.
	absent bool
	hands  hands
	// client is how the test sees the cluster; as it is if this is nil.
	client func() client.Client
	state  v1alpha3.State
	// awaited is what the test waits for, if anything, and says what it sees instead or what is wrong.
	awaited, says string
	suggestion    string
}

var badOperators = map[string]bad{
	"An operator that does nothing runs nothing.": {
		test: "database", absent: true, state: v1alpha3.FailState,
		awaited: "a Database that is Ready", says: "the operator has not said whether it is Ready", suggestion: "kubectl logs",
	},
	"A Database whose Pod is not started is not Ready.": {
		test: "database", hands: hands{idle: true}, state: v1alpha3.FailState,
		awaited: "a Database that is Ready", says: "Ready=False, Starting", suggestion: "docs/spec/database.md",
	},
	"What the operator says is not believed: the endpoint counts.": {
		test: "database", hands: hands{lost: true}, state: v1alpha3.FailState,
		awaited: "a ready endpoint of Service scorecard-orders", says: "the Service leads to []", suggestion: "kubectl get endpointslices",
	},
	"A Service that does not go with its Database is named.": {
		test: "database", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(s *corev1.Service) { s.OwnerReferences = nil })
		},
		says: "Service scorecard-orders does not belong to the Database", suggestion: "please report it",
	},
	"Credentials without a password are none.": {
		test: "database", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(s *corev1.Secret) { delete(s.Data, "password") })
		},
		says: "Secret scorecard-orders-credentials has no password", suggestion: "please report it",
	},
	"A status that leads elsewhere is wrong.": {
		test: "database", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(d *workloadsv1.Database) { d.Status.Address = "elsewhere:27017" })
		},
		says: `status.address is "elsewhere:27017"`, suggestion: "please report it",
	},
	"A first operator that does not look at the namespace says nothing of the second.": {
		test: "protected", hands: hands{deaf: true}, state: v1alpha3.ErrorState,
		awaited: "a Database that is Protected", says: "Protected=False, FallbackPending", suggestion: "docs/spec/database.md",
	},
	"A Database that is not protected must say what to install.": {
		test: "protected", state: v1alpha3.FailState, client: noFallbacks,
		awaited: "a Database that says what to install", says: "Protected=True, StandbyReady", suggestion: "please report it",
	},
	"A fallback for another Service protects nothing.": {
		test: "protected", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(f *criticalv2.ServiceFallback) { f.Spec.Services = []string{"another"} })
		},
		says: `is for the Services ["another"]`, suggestion: "please report it",
	},
	"What is left after the deletion is named.": {
		test: "deletion", hands: hands{lazy: true}, state: v1alpha3.FailState,
		awaited: "nothing left of the Database but its claim and its Secret",
		says:    "3 left: Pod scorecard-orders, Service scorecard-orders, ServiceFallback scorecard-orders", suggestion: "garbage collector",
	},
	"A claim that would go with its Database is found before.": {
		test: "deletion", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(c *corev1.PersistentVolumeClaim) {
				c.OwnerReferences = []metav1.OwnerReference{{Kind: "Database", Name: orders}}
			})
		},
		says: "PersistentVolumeClaim scorecard-orders-data would be deleted with Database scorecard-orders", suggestion: "please report it",
	},
	"A Secret that would go with its Database is found before.": {
		test: "deletion", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(s *corev1.Secret) { s.OwnerReferences = []metav1.OwnerReference{{Kind: "Database", Name: orders}} })
		},
		says: "Secret scorecard-orders-credentials would be deleted with Database scorecard-orders", suggestion: "please report it",
	},
	"What a schema lets pass is named.": {
		test: "refusal", state: v1alpha3.FailState, client: func() client.Client {
			return created(func(object client.Object, err error) error {
				if object.GetObjectKind().GroupVersionKind().Kind == "Database" {
					return nil
				}
				return err
			})
		},
		says: "an unknown type (Database of v1: {type: oracle}) is accepted, and should be refused", suggestion: "kubectl get crd databases.mycrd.com",
	},
	"An operator whose webhook does not answer converts nothing.": {
		test: "conversion", state: v1alpha3.FailState, client: func() client.Client {
			return created(func(object client.Object, err error) error {
				if isFirst(object) {
					return errors.New("conversion webhook for mycrd.com/v1 failed")
				}
				return err
			})
		},
		awaited: "an API server that accepts v1", says: "conversion webhook for mycrd.com/v1 failed", suggestion: "Does its webhook answer",
	},
	"A setting that is lost in the conversion is missed.": {
		test: "conversion", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(c *workloadsv2.AppConfig) { delete(c.Spec.Configuration.Settings, "COLOUR") })
		},
		says: "what v1 means, read as v2: it is", suggestion: "Does its webhook answer",
	},
	"A ConfigMap that can be changed is none to rely on.": {
		test: "rollout", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(c *corev1.ConfigMap) { c.Immutable = nil })
		},
		says: "is not immutable", suggestion: "please report it",
	},
	"A ConfigMap with other settings is wrong.": {
		test: "rollout", state: v1alpha3.FailState, client: func() client.Client {
			return see(func(c *corev1.ConfigMap) { c.Data["COLOUR"] = "green" })
		},
		says: "and should have map[COLOUR:blue LOG_LEVEL:debug]", suggestion: "please report it",
	},
	"A Deployment that rolls twice for one change is counted.": {
		test: "rollout", hands: hands{eager: true}, state: v1alpha3.FailState,
		says: "Deployment shop has rolled 2 times for one change", suggestion: "please report it",
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
			if bad.client != nil {
				w.Client = bad.client()
			}
			if !bad.absent {
				operate(t, w.Namespace, true)
			}
			played := bad.hands
			played.namespace = w.Namespace
			played.play(t)

			var got v1alpha3.TestResult
			if bad.awaited == "" {
				got = suitetest.Run(t, check, w)
			} else {
				got = suitetest.UntilSeen(t, check, w, "", "Seen: "+bad.says)
			}
			g.Expect(got.State).To(Equal(bad.state), got.Log)
			g.Expect(got.Errors).To(ContainElement(And(ContainSubstring(bad.awaited), ContainSubstring(bad.says))), got.Log)
			g.Expect(got.Suggestions).To(ContainElement(ContainSubstring(bad.suggestion)))
			nothingIsLeft(g, w)
		})
	}
}

// Its claim would go only in a cluster that deletes more than it is asked to.
func TestAClaimThatIsDeletedIsMissed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	check := suitetest.Check(t, Suite, "deletion")
	w := newWorld(t, check)
	operate(t, w.Namespace, true)
	(&hands{namespace: w.Namespace, greedy: true}).play(t)
	got := suitetest.Run(t, check, w)
	g.Expect(got.State).To(Equal(v1alpha3.FailState), got.Log)
	g.Expect(got.Errors).To(ConsistOf(ContainSubstring("PersistentVolumeClaim scorecard-orders-data was deleted with the Database, and should stay")))
}
