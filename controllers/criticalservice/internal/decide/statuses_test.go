package decide_test

import (
	"bytes"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// standing is a policy, and what there is to say of it.
type standing struct {
	name     string
	services []decide.Snapshot
	scope    summary.Scope
	// labels are those that the policy selects, and governor the one that comes before it.
	labels   map[string]string
	governor *criticalv2.CriticalService
}

// standings are the ways in which a policy can stand, as GitOps tools tell them apart. The
// objects that follow from them are what test/gitops lets these tools judge.
func standings() []standing {
	up, down := endpoints(ready("shop-1")), endpoints(notReady("shop-1"))
	refused := snapshot(toPage(), down, responder(starting), failing("exceeded quota"), published)
	isHeadless := []option{toPage(), responder(readyPod), service(headless)}
	return []standing{
		{name: "no-services"},
		{name: "armed", services: []decide.Snapshot{snapshot(toPage(), responder(readyPod), armed)}},
		{name: "armed-by-the-page", services: []decide.Snapshot{snapshot(noTemplate, responder(readyPod), armed)}},
		{name: "covered", services: []decide.Snapshot{snapshot(toPage(), responder(readyPod), armed, down, published)}},
		{name: "ignored", services: []decide.Snapshot{snapshot(service(func(s *corev1.Service) { s.Spec.Selector = nil }))}},
		{name: "overridden", services: []decide.Snapshot{snapshot(toPage(), down)}, governor: enforced("platform")},
		{name: "arming", services: []decide.Snapshot{snapshot(toPage(), up)}},
		{name: "arming-attention", services: []decide.Snapshot{snapshot(toService("spare"), up, backup())}},
		{name: "arming-stalled", services: []decide.Snapshot{snapshot(append(isHeadless, up)...)}},
		{name: "one-of-two-stalled", services: []decide.Snapshot{
			snapshot(toPage(), responder(readyPod), armed),
			snapshot(append(isHeadless, up, service(func(s *corev1.Service) { s.Name = "till" }))...),
		}},
		{name: "exposed", services: []decide.Snapshot{snapshot(toPage(), down)}},
		{name: "exposed-attention", services: []decide.Snapshot{refused}},
		{name: "exposed-stalled", services: []decide.Snapshot{snapshot(append(isHeadless, down)...)}},
		{name: "selector-invalid", labels: map[string]string{"role": "front end"}},
	}
}

// enforced is a CriticalService that comes before all ServiceFallbacks.
func enforced(name string) *criticalv2.CriticalService {
	governor := policy(name)
	governor.Spec.Precedence = criticalv2.PrecedenceEnforced
	return governor
}

// observe gives a policy the status that the operator writes.
func (s *standing) observe(policy criticalv2.Policy) {
	verdicts := make([]summary.Verdict, 0, len(s.services))
	for _, snap := range s.services {
		snap.Policies = []criticalv2.Policy{policy}
		if s.governor != nil {
			snap.Policies = append(snap.Policies, s.governor)
		}
		plan := decide.Decide(snap)
		verdicts = append(verdicts, summary.Verdict{Judgement: *summary.Judge(&snap, &plan), Check: &summary.Check{}})
	}
	*policy.Observed() = summary.Summarize(policy, verdicts, s.scope, now)
}

// protection is what the Services of the standing are given.
func (s *standing) protection() criticalv2.ProtectionSpec {
	if len(s.services) == 0 {
		return criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: criticalv2.DefaultPage()}}
	}
	return *s.services[0].Policies[0].Protection()
}

func (s *standing) meta(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: s.name, UID: types.UID(s.name), Generation: 1}
}

// selector is that of a policy; by default it means the Services of the Snapshots.
func (s *standing) selector() metav1.LabelSelector {
	if s.labels != nil {
		return metav1.LabelSelector{MatchLabels: s.labels}
	}
	return metav1.LabelSelector{MatchLabels: map[string]string{"role": "shop"}}
}

func (s *standing) ofCriticalService() criticalv2.Policy {
	policy := &criticalv2.CriticalService{ObjectMeta: s.meta("")}
	policy.Spec.ServiceSelector, policy.Spec.ProtectionSpec = s.selector(), s.protection()
	policy.SetGroupVersionKind(criticalv2.CriticalServiceKind)
	s.observe(policy)
	policy.Spec = criticalv2.CriticalServiceSpec{} // It is not judged.
	return policy
}

func (s *standing) ofServiceFallback() criticalv2.Policy {
	policy := &criticalv2.ServiceFallback{ObjectMeta: s.meta("web")}
	policy.Spec.ServiceSelector, policy.Spec.ProtectionSpec = new(s.selector()), s.protection()
	policy.SetGroupVersionKind(criticalv2.ServiceFallbackKind)
	s.observe(policy)
	policy.Spec = criticalv2.ServiceFallbackSpec{} // It is not judged.
	return policy
}

func TestTheStatusesThatGitOpsToolsJudge(t *testing.T) {
	all := standings()
	for file, test := range map[string]struct {
		more standing
		of   func(*standing) criticalv2.Policy
	}{
		"criticalservices": {standing{name: "namespace-not-watched", scope: summary.Scope{Unwatched: []string{"elsewhere"}}}, (*standing).ofCriticalService},
		"servicefallbacks": {standing{name: "too-many", scope: summary.Scope{Surplus: true}}, (*standing).ofServiceFallback},
	} {
		t.Run(file, func(t *testing.T) {
			g := NewWithT(t)
			var objects bytes.Buffer
			for _, one := range append(all, test.more) {
				object, err := yaml.Marshal(test.of(&one))
				g.Expect(err).NotTo(HaveOccurred())
				objects.WriteString("---\n")
				objects.Write(object)
			}
			golden := "testdata/statuses/" + file + ".golden.yaml"
			if *update {
				g.Expect(os.WriteFile(golden, objects.Bytes(), 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(golden)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(objects.String()).To(Equal(string(want)), "read what has changed; then go test ./controllers/criticalservice/internal/decide -update")
		})
	}
}
