package policy

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func namespace(name, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

func service(namespace, name, role string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"role": role}}}
}

func template(namespace, name string) *corev1.PodTemplate {
	return &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// policy selects Services by role, in the namespaces that are named.
func policy(name, role string, namespaces ...string) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces: namespaces, ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": role}},
		},
	}
}

func with(fallback criticalv2.Fallback, policy *criticalv2.CriticalService) *criticalv2.CriticalService {
	policy.Spec.Fallback = fallback
	return policy
}

// deleted is one that a finalizer keeps.
func deleted(policy *criticalv2.CriticalService) *criticalv2.CriticalService {
	policy.DeletionTimestamp, policy.Finalizers = &metav1.Time{Time: time.Unix(0, 0)}, []string{"example.com/keep"}
	return policy
}

func fromTemplate(namespace, name string) criticalv2.Fallback {
	return criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Namespace: namespace, Name: name}}
}

func fromBackup(name string) criticalv2.Fallback {
	return criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: name}}
}

// theShop is what is there: two namespaces with Services, and a PodTemplate each.
func theShop() []client.Object {
	return []client.Object{
		namespace("shop", "web"), namespace("blog", "web"), namespace("empty", "none"), namespace("system", "none"),
		service("shop", "storefront", "frontend"), service("shop", "cart", "backend"), service("shop", "static", "backup"),
		service("blog", "pages", "frontend"),
		template("system", "standard"), template("system", "sorry"), template("shop", "sorry"),
	}
}

func adviserOf(t *testing.T, settings Settings, objects ...client.Object) *adviser {
	t.Helper()
	scheme := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme)
	NewWithT(t).Expect(known.AddToScheme(scheme)).To(Succeed())
	settings.Template, settings.OperatorNamespace = types.NamespacedName{Namespace: "system", Name: "standard"}, "system"
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	a := newAdviser(reader, func(context.Context) error { return nil }, settings)
	a.budget = time.Minute // For a machine that is busy.
	return a
}

func TestWhatIsWarnedAbout(t *testing.T) {
	for sentence, test := range map[string]struct {
		policy   *criticalv2.CriticalService
		settings Settings
		// more is there beside the shop.
		more []client.Object
		want []string
	}{
		"nothing, if all is well":                       {policy: policy("a", "frontend")},
		"nothing, if its namespaces have what it wants": {policy: policy("a", "frontend", "shop")},
		"a label that no Service has": {policy: policy("a", "middle"), want: []string{
			"No Service matches right now, so that nothing is protected: give the Service itself the labels that the spec names " +
				"(those of its Pods do not count), or correct the spec.",
		}},
		"a label that Services have elsewhere": {policy: policy("a", "frontend", "empty"), want: []string{
			"No Service matches right now, so that nothing is protected: give the Service itself the labels that the spec names " +
				"(those of its Pods do not count), or correct the spec.",
		}},
		"a namespace that is misspelt, and no more": {policy: policy("a", "frontend", "shpo"), want: []string{
			`Namespace "shpo" does not exist: create it, or name another in the spec.`,
		}},
		"one of several namespaces": {policy: policy("a", "frontend", "one", "shop", "two", "three", "four", "five"), want: []string{
			`Namespace "one", "two", "three" and 2 more does not exist: create it, or name another in the spec.`,
		}},
		"a namespace that is not watched": {
			policy: policy("a", "frontend", "shop", "blog", "nowhere"), settings: Settings{Namespaces: []string{"shop"}}, want: []string{
				`The operator does not look at namespace "blog", "nowhere": add it to NAMESPACES, or name another in the spec.`,
			},
		},
		"another one that has all of it": {policy: policy("b", "frontend", "shop"), more: []client.Object{policy("a", "frontend")}, want: []string{
			`Every Service that matches is governed by another CriticalService, which comes first by name ("a"): ` +
				"this one protects nothing until one of them selects other Services.",
		}},
		"others that have all of it together": {
			policy: policy("c", "frontend"), more: []client.Object{policy("b", "frontend", "blog"), policy("a", "frontend", "shop")}, want: []string{
				`Every Service that matches is governed by another CriticalService, which comes first by name ("a", "b"): ` +
					"this one protects nothing until one of them selects other Services.",
			},
		},
		"not others that have a part of it":              {policy: policy("b", "frontend"), more: []client.Object{policy("a", "frontend", "shop")}},
		"not others that come later":                     {policy: policy("b", "frontend"), more: []client.Object{policy("c", "frontend")}},
		"not one that is being deleted":                  {policy: policy("b", "frontend"), more: []client.Object{deleted(policy("a", "frontend"))}},
		"not itself":                                     {policy: policy("b", "frontend"), more: []client.Object{policy("b", "frontend")}},
		"nothing of a PodTemplate that is there":         {policy: with(fromTemplate("", ""), policy("a", "frontend"))},
		"nothing of one in the namespace of the Service": {policy: with(fromTemplate("shop", "sorry"), policy("a", "frontend", "shop"))},
		"a PodTemplate that is not there": {policy: with(fromTemplate("", "misspelt"), policy("a", "frontend")), want: []string{
			"PodTemplate system/misspelt does not exist: create it; until then the built-in page stands in for it, where it can.",
		}},
		"one that other namespaces may not use": {policy: with(fromTemplate("shop", "sorry"), policy("a", "frontend")), want: []string{
			"PodTemplate shop/sorry may not be used for Services of other namespaces, for which the built-in page stands in: " +
				`take one from the operator's namespace "system", or select Services of its namespace only.`,
		}},
		"nothing of a PodTemplate that is not watched": {
			policy: with(fromTemplate("shop", "misspelt"), policy("a", "nothing")), settings: Settings{Namespaces: []string{"blog"}}, want: []string{
				"No Service matches right now, so that nothing is protected: give the Service itself the labels that the spec names " +
					"(those of its Pods do not count), or correct the spec.",
			},
		},
		"nothing of a backup that is there": {policy: with(fromBackup("static"), policy("a", "frontend", "shop"))},
		"a backup that is not there": {policy: with(fromBackup("static"), policy("a", "frontend")), want: []string{
			`Backup Service "static" does not exist in namespace "blog": create it there, or name another in the spec; until then nothing answers in an outage.`,
		}},
		"nothing of a fallback that is not used": {
			policy: with(fromBackup("misspelt"), policy("b", "frontend", "shop")), more: []client.Object{policy("a", "frontend")}, want: []string{
				`Every Service that matches is governed by another CriticalService, which comes first by name ("a"): ` +
					"this one protects nothing until one of them selects other Services.",
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := adviserOf(t, test.settings, append(theShop(), test.more...)...)
			NewWithT(t).Expect(a.advise(t.Context(), test.policy)).To(Equal(test.want))
		})
	}
}

// Namespaces are chosen by their labels as the controllers do.
func TestASelectorOfNamespaces(t *testing.T) {
	g := NewWithT(t)
	a := adviserOf(t, Settings{}, theShop()...)
	chosen := policy("a", "frontend")
	chosen.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}
	g.Expect(a.advise(t.Context(), chosen)).To(BeEmpty())
	chosen.Spec.NamespaceSelector.MatchLabels["team"] = "none"
	g.Expect(a.advise(t.Context(), chosen)).To(ConsistOf(HavePrefix("No Service matches right now")))
}

// Objects of one file come one right after the other.
func TestWhatHasOnlyJustComeIsNotMissed(t *testing.T) {
	g := NewWithT(t)
	a := adviserOf(t, Settings{}, namespace("shop", "web"))
	there := a.reader.(client.Client)
	looks := 0
	a.synced = func(ctx context.Context) error {
		looks++
		if looks == 2 {
			return there.Create(ctx, service("shop", "storefront", "frontend"))
		}
		return nil
	}
	g.Expect(a.advise(t.Context(), policy("a", "frontend"))).To(BeEmpty())
	g.Expect(looks).To(Equal(2))
}

func TestWhoIsInDoubtSaysNothing(t *testing.T) {
	nothing := policy("a", "nothing")
	t.Run("because the caches are not filled", func(t *testing.T) {
		a := adviserOf(t, Settings{}, theShop()...)
		a.synced = func(context.Context) error { return errors.New("not yet") }
		NewWithT(t).Expect(a.advise(t.Context(), nothing)).To(BeEmpty())
	})
	t.Run("because the time is over", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		NewWithT(t).Expect(adviserOf(t, Settings{}, theShop()...).advise(ctx, nothing)).To(BeEmpty())
	})
	for _, unreadable := range []client.Object{&corev1.PodTemplate{}, &corev1.Service{}} {
		t.Run("because something cannot be read", func(t *testing.T) {
			a := adviserOf(t, Settings{}, theShop()...)
			gvk, err := a.reader.(client.Client).GroupVersionKindFor(unreadable)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			a.reader = interceptor.NewClient(a.reader.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if found, err := from.GroupVersionKindFor(object); err != nil || found == gvk {
						return errors.New("refused")
					}
					return from.Get(ctx, key, object, options...)
				},
			})
			fallback := fromTemplate("", "misspelt")
			if gvk.Kind == "Service" {
				fallback = fromBackup("misspelt")
			}
			NewWithT(t).Expect(a.advise(t.Context(), with(fallback, policy("a", "frontend")))).To(BeEmpty())
		})
	}
}
