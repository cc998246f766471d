package stories_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/test/testenv"
)

// team makes a ServiceFallback of the world's namespace, with a page.
func (w *world) team(name string, changes ...func(*criticalv2.ServiceFallback)) *criticalv2.ServiceFallback {
	w.T.Helper()
	fallback := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	fallback.Spec.Fallback.Page = &criticalv2.PageFallback{}
	for _, change := range changes {
		change(fallback)
	}
	w.Create(fallback)
	w.T.Cleanup(func() {
		w.lint(fallback)
		ctx := context.WithoutCancel(w.T.Context())
		w.Expect(client.IgnoreNotFound(w.Cluster.Client.Delete(ctx, fallback))).To(Succeed())
	})
	return fallback
}

// naming makes a ServiceFallback name Services.
func naming(services ...string) func(*criticalv2.ServiceFallback) {
	return func(f *criticalv2.ServiceFallback) { f.Spec.Services = services }
}

// selecting makes it select those that the world's policies match.
func (w *world) selecting(f *criticalv2.ServiceFallback) {
	f.Spec.ServiceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": w.Namespace}}
}

func TestATeamProtectsAServiceOfItsNamespace(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	team := w.team("web", naming("web", "yet-to-come"))
	service, real := w.up("web", func(s *corev1.Service) { s.Labels = nil })
	w.responder("responder-1")
	w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.conditionOf(team, "Ready")).Should(Equal("True/Protected"))
	w.Eventually(w.conditionOf(team, "Overridden")).Should(Equal("False/NotOverridden"))
	w.Expect(w.statusOf(team).ObservedGeneration).To(Equal(team.Generation))

	w.fail(service, real)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.EventsOf(service, "FallbackPromoted")).Should(HaveLen(1))
	w.Expect(w.Events(service, "FallbackPromoted")[0].Message).To(ContainSubstring(`ServiceFallback "web"`))
	w.Eventually(func() int { return len(w.statusOf(team).Outages) }).Should(Equal(1))
	request := w.slice(service)
	w.Expect(w.Exists(request)).To(BeTrue())
	w.Expect(metav1.IsControlledBy(request, team)).To(BeTrue(), "it goes with the ServiceFallback, whether the operator runs or not")

	w.recover(service)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/StandbyReady"))
	later, _ := w.up("yet-to-come", func(s *corev1.Service) { s.Labels = nil })
	w.Eventually(w.detailOf).WithArguments(team, later).ShouldNot(BeZero())

	w.Delete(team)
	w.Eventually(w.published(service)).Should(BeEmpty())
}

// The law of the tiers, and that what answers goes on answering: it is one outage, in the history of the policy under
// which it began.
func TestWhoGovernsChangesInMidOutage(t *testing.T) {
	w, registry := withResponder(t), prometheus.NewRegistry()
	w.start(w.complete(func(o *criticalservice.Options) { o.Registry = registry }))
	baseline := w.policy("a", toPage)
	service, real := w.armed(baseline, "web")
	counted := func() float64 {
		return sample(w, registry, "outages_total", map[string]string{"namespace": service.Namespace, "service": service.Name})
	}
	w.fail(service, real)
	w.Eventually(w.stateOf(baseline, service)).Should(Equal("Covered/FallbackServing"))
	answering := w.podSlice(service)
	holds := func(governor criticalv2.Policy, losers ...criticalv2.Policy) {
		t.Helper()
		w.Eventually(w.stateOf(governor, service)).Should(Equal("Covered/FallbackServing"))
		w.Eventually(func() bool {
			request := w.slice(service)
			return w.Exists(request) && metav1.IsControlledBy(request, governor)
		}).Should(BeTrue())
		for _, loser := range losers {
			w.Eventually(w.stateOf(loser, service)).Should(Equal("Ignored/Overridden"))
			w.Eventually(func() *criticalv2.PolicyReference { return w.detailOf(loser, service).OverriddenBy }).Should(
				Equal(&criticalv2.PolicyReference{Kind: governor.PolicyKind().Kind, Name: governor.GetName()}))
		}
		now := w.podSlice(service)
		w.Expect(now.UID).To(Equal(answering.UID), "the endpoint that answers stays")
		w.Expect(w.published(service)()).To(HaveSuffix("promoted"))
		for _, policy := range append(losers, governor) {
			outages := 0
			if policy.GetName() == baseline.Name {
				outages = 1
			}
			w.Expect(w.statusOf(policy).Outages).To(HaveLen(outages), "the history of %s", policy.GetName())
		}
		w.Eventually(counted).Should(Equal(1.0), "it is counted once its status is written")
	}
	holds(baseline)
	selecting := w.team("z-selects", w.selecting)
	holds(selecting, baseline)
	w.Eventually(w.conditionOf(baseline, "Overridden")).Should(Equal("True/Precedence"))
	named := w.team("y-names", naming("web"))
	holds(named, selecting, baseline)
	first := w.team("x-names", naming("web"))
	holds(first, named, selecting, baseline)
	w.Eventually(w.conditionOf(named, "Overridden")).Should(Equal("True/FirstByName"))
	enforced := w.policy("z", toPage, func(p *criticalv2.CriticalService) { p.Spec.Precedence = criticalv2.PrecedenceEnforced })
	holds(enforced, first, named, selecting, baseline)

	inOrder := []criticalv2.Policy{enforced, first, named, selecting, baseline}
	for len(inOrder) > 1 {
		w.Delete(inOrder[0])
		inOrder = inOrder[1:]
		holds(inOrder[0], inOrder[1:]...)
	}

	// The next outage is another one.
	real = w.recover(service)
	w.Eventually(w.stateOf(baseline, service)).Should(Equal("Armed/StandbyReady"))
	w.fail(service, real)
	w.Eventually(func() []criticalv2.Outage { return w.statusOf(baseline).Outages }).Should(HaveLen(2))
	w.Eventually(counted).Should(Equal(2.0))
}

func TestOptingOutBeatsATeamAndNotAnEnforcedPolicy(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	service, _ := w.up("web", func(s *corev1.Service) {
		s.Annotations = map[string]string{criticalv2.AnnotationCriticalService: criticalv2.OptOut}
	})
	team := w.team("web", naming("web"))
	w.Eventually(w.stateOf(team, service)).Should(Equal("Ignored/OptedOut"))
	enforced := w.policy("z", toPage, func(p *criticalv2.CriticalService) { p.Spec.Precedence = criticalv2.PrecedenceEnforced })
	w.Eventually(w.stateOf(enforced, service)).Should(HavePrefix("Arming/"))
	w.Eventually(w.stateOf(team, service)).Should(Equal("Ignored/Overridden"))
}

// A team's PodTemplate runs only what the team could be given by any administrator.
func TestTheTemplateOfATeamIsRestricted(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	safe := func(template *corev1.PodTemplate) {
		template.Template.Spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		for i := range template.Template.Spec.Containers {
			template.Template.Spec.Containers[i].SecurityContext = &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}
		}
	}
	template := w.template()
	team := w.team("web", naming("web"), func(f *criticalv2.ServiceFallback) {
		f.Spec.Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Name: template.Name, Activation: criticalv2.ActivationStandby}}
	})
	service, _ := w.up("web")
	w.responder("responder-1")
	w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/TemplateForbidden"))
	w.Expect(w.detailOf(team, service).Message).To(And(ContainSubstring("allowPrivilegeEscalation"), ContainSubstring("The built-in page stands in for it.")))
	w.Eventually(w.conditionOf(team, "FallbackReady")).Should(Equal("False/TemplateForbidden"))
	w.Expect(w.fallbacks(service)).To(BeEmpty())

	testenv.Update(w.World, template.DeepCopy(), safe)
	fallback := w.fallback(service)
	w.Expect(metav1.IsControlledBy(fallback, team)).To(BeTrue())
	w.Expect(*fallback.Spec.AutomountServiceAccountToken).To(BeFalse())
	w.MakeReady(fallback)
	w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/StandbyReady"))
}

func TestTheSchemaOfAServiceFallback(t *testing.T) {
	w := sideBySide(t)
	for sentence, test := range map[string]struct {
		change func(*criticalv2.ServiceFallback)
		want   string
	}{
		"it names or selects":                     {func(*criticalv2.ServiceFallback) {}, "exactly one of the two"},
		"and not both":                            {func(f *criticalv2.ServiceFallback) { naming("web")(f); w.selecting(f) }, "exactly one of the two"},
		"it selects by a label":                   {func(f *criticalv2.ServiceFallback) { f.Spec.ServiceSelector = &metav1.LabelSelector{} }, "every Service of the namespace"},
		"it names Services, and not what they do": {naming("Shop!"), "each of services must be a Service's name"},
		"it names at most 64": {func(f *criticalv2.ServiceFallback) {
			for i := range 65 {
				f.Spec.Services = append(f.Spec.Services, fmt.Sprintf("web-%d", i))
			}
		}, "must have at most 64 items"},
		"its PodTemplate is of its own namespace": {func(f *criticalv2.ServiceFallback) {
			naming("web")(f)
			f.Spec.Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Name: "x", Namespace: "kube-system"}}
		}, "leave namespace out"},
		"it is not the operator's own": {func(f *criticalv2.ServiceFallback) {
			naming("web")(f)
			f.Spec.Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{}}
		}, "leave namespace out"},
		"its fallback is one thing": {func(f *criticalv2.ServiceFallback) {
			naming("web")(f)
			f.Spec.Fallback.Service = &criticalv2.BackupFallback{Name: "other"}
		}, "exactly one of page, podTemplate and service"},
	} {
		t.Run(sentence, func(t *testing.T) {
			fallback := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "web"}}
			fallback.Spec.Fallback.Page = &criticalv2.PageFallback{}
			test.change(fallback)
			NewWithT(t).Expect(w.Cluster.Client.Create(t.Context(), fallback, client.DryRunAll)).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestTheKindIsTurnedOff(t *testing.T) {
	w := withResponder(t)
	team := w.team("web", naming("web"))
	w.start(w.complete(func(o *criticalservice.Options) { o.NoTenants = true }))
	w.Eventually(func(g Gomega) {
		g.Expect(w.statusOf(team).Conditions).To(ContainElement(And(
			HaveField("Type", criticalv2.ConditionReady), HaveField("Reason", criticalv2.ConditionReasonTurnedOff))))
	}).Should(Succeed())
	baseline := w.policy("a", toPage)
	service, _ := w.armed(baseline, "web")
	w.Eventually(w.stateOf(baseline, service)).Should(Equal("Armed/StandbyReady"))
}

// The setting is made, and the operator is restarted: what teams had goes, whatever they asked for before.
func TestARestartWithoutTenantsTakesWhatTeamsHad(t *testing.T) {
	for sentence, defaulted := range map[string]bool{"and nothing else protects the Service": false, "and a default protects the Service": true} {
		t.Run(sentence, func(t *testing.T) {
			w := withResponder(t)
			w.start(w.complete())
			team := w.team("web", naming("web"))
			service, real := w.up("web")
			w.responder("responder-1")
			w.Eventually(w.stateOf(team, service)).Should(Equal("Armed/StandbyReady"))
			var baseline *criticalv2.CriticalService
			if defaulted {
				baseline = w.policy("a", toPage)
				w.Eventually(w.stateOf(baseline, service)).Should(Equal("Ignored/Overridden"))
			}
			w.fail(service, real)
			w.Eventually(w.stateOf(team, service)).Should(Equal("Covered/FallbackServing"))
			answering := w.podSlice(service)
			w.stop()

			w.start(w.complete(func(o *criticalservice.Options) { o.NoTenants = true }))
			if defaulted {
				w.Eventually(w.stateOf(baseline, service)).Should(Equal("Covered/FallbackServing"))
				request := w.slice(service)
				w.Eventually(func() bool { return w.Exists(request) && metav1.IsControlledBy(request, baseline) }).Should(BeTrue())
				w.Expect(request.OwnerReferences).To(HaveLen(1), "the team's object owns nothing any more")
				w.Expect(w.podSlice(service).UID).To(Equal(answering.UID), "the endpoint that answers stays")
				return
			}
			w.Eventually(w.published(service)).Should(BeEmpty())
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: criticalv2.ResponderName}}
			w.Eventually(func() bool { return w.Exists(deployment) }).Should(BeFalse(), "the responder goes, too")
			w.settle()
			w.Expect(w.published(service)()).To(BeEmpty())
		})
	}
}
