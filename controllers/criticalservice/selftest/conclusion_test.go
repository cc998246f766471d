package selftest

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/protection"
)

// asking is the question to a port of a Pod.
func asking(port, pod, address string) question {
	return question{Target: protection.Target{
		Port: corev1.ServicePort{Name: port, Port: 80}, Number: 20000,
		Endpoint: &discoveryv1.Endpoint{Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Name: pod}},
	}}
}

func TestOnlyWhatIsSilentTwiceCounts(t *testing.T) {
	const every = 5 * time.Minute
	web := silence{question: asking("http", "a", "10.0.0.1"), problem: "does not answer"}
	other := silence{question: asking("http", "b", "10.0.0.2"), problem: "does not answer"}
	moved := silence{question: asking("http", "a", "10.0.0.9"), problem: "does not answer"}
	now, key := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC), types.NamespacedName{Namespace: "shop", Name: "web"}
	tests := map[string]struct {
		before, silent, confirmed []silence
		conclusive                bool
		next                      time.Duration
	}{
		"all answer":                     {nil, nil, nil, true, untilTurn(now, key, every)},
		"one is silent":                  {nil, []silence{web}, nil, false, secondLook},
		"it is silent again":             {[]silence{web}, []silence{web}, []silence{web}, true, silentLook},
		"another one is silent":          {[]silence{web}, []silence{other}, nil, false, secondLook},
		"it is silent, and one more":     {[]silence{web}, []silence{web, other}, []silence{web}, true, silentLook},
		"it answers again":               {[]silence{web}, nil, nil, true, untilTurn(now, key, every)},
		"its Pod has another address":    {[]silence{web}, []silence{moved}, nil, false, secondLook},
		"the order is that of this test": {[]silence{other, web}, []silence{web, other}, []silence{web, other}, true, silentLook},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, unconfirmed := confirm(test.before, nil)
			confirmed, _ := confirm(test.silent, unconfirmed)
			g.Expect(confirmed).To(Equal(test.confirmed))
			g.Expect(isConclusive(test.silent, confirmed)).To(Equal(test.conclusive))
			g.Expect(nextTest(key, now, every, test.silent, confirmed)).To(Equal(test.next))
			g.Expect(nextTest(key, now, time.Second, test.silent, confirmed)).To(BeNumerically("<=", 2*time.Second), "a short interval is kept")
		})
	}
}

func TestAFallbackPodFallsSilentThatAnsweredBefore(t *testing.T) {
	of := func(port, pod string) question {
		q := asking(port, pod, "10.0.0.1")
		q.Endpoint.TargetRef.UID = types.UID(pod)
		return q
	}
	stray := of("http", "a")
	stray.stray = true
	http, grpc, responder := of("http", "a"), of("grpc", "a"), of("http", "responder")
	both := []question{http, grpc}
	answered, fell := memory.Answer{Pod: "a"}, memory.Answer{Pod: "a", Fell: true}
	for name, test := range map[string]struct {
		asked, silent, confirmed []question
		last, want               memory.Answer
	}{
		"it answers for the first time":               {asked: both, want: answered},
		"it never answered":                           {asked: both, silent: both, confirmed: both},
		"it is silent for the first time":             {asked: both, silent: both, last: answered, want: answered},
		"it is silent twice":                          {asked: both, silent: both, confirmed: both, last: answered, want: fell},
		"it is silent on one of its ports":            {asked: both, silent: both[:1], confirmed: both[:1], last: answered, want: answered},
		"it answers again":                            {asked: both, last: fell, want: answered},
		"its successor answers":                       {asked: both, last: memory.Answer{Pod: "before", Fell: true}, want: answered},
		"its successor never answered":                {asked: both, silent: both, confirmed: both, last: memory.Answer{Pod: "before"}, want: memory.Answer{Pod: "before"}},
		"a Pod that is no fallback Pod is silent":     {asked: []question{responder}, silent: []question{responder}, confirmed: []question{responder}, last: answered, want: answered},
		"an address is published that is not its own": {asked: []question{stray}, silent: []question{stray}, confirmed: []question{stray}, last: answered, want: answered},
		"nothing is asked":                            {last: fell, want: fell},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}}}
			NewWithT(t).Expect(answerOf(pods, test.asked, silences(test.silent), silences(test.confirmed), test.last)).To(Equal(test.want))
		})
	}
}

func silences(questions []question) (silent []silence) {
	for _, q := range questions {
		silent = append(silent, silence{question: q})
	}
	return silent
}

func TestWhatACheckIsWorth(t *testing.T) {
	check := func(asked int, failure string) *summary.Check {
		if failure == "" {
			return &summary.Check{Asked: asked}
		}
		return &summary.Check{Asked: asked, Silence: &summary.Silence{Failure: failure}}
	}
	const silent, answers = criticalv2.ConditionReasonStandbySilent, criticalv2.ConditionReasonStandbyAnswers
	tests := map[string]struct {
		last     *summary.Check
		check    *summary.Check
		inStatus bool
		isNews   bool
		event    string
	}{
		"the first one that answers":                  {nil, check(1, ""), false, true, ""},
		"the first one that is silent":                {nil, check(1, "x"), false, true, silent},
		"the first one, silent as the status says":    {nil, check(1, "x"), true, true, ""},
		"the first one answers, unlike in the status": {nil, check(1, ""), true, true, answers},
		"it still answers":                            {check(1, ""), check(2, ""), false, false, ""},
		"it falls silent":                             {check(1, ""), check(1, "x"), false, true, silent},
		"it is still silent":                          {check(1, "x"), check(1, "x"), false, false, ""},
		"it is silent for another reason":             {check(1, "x"), check(1, "y"), false, true, ""},
		"it answers again":                            {check(1, "x"), check(1, ""), false, true, answers},
		"nothing is left to ask":                      {check(1, "x"), check(0, ""), false, true, ""},
		"there is something to ask again":             {check(0, ""), check(1, ""), false, true, ""},
		"the status is older than the last check":     {check(1, ""), check(1, "x"), true, true, silent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(compare(test.last, *test.check, test.inStatus)).To(Equal(comparison{test.isNews, test.event}))
		})
	}
}

// What a server answered may be worded differently each time.
func TestTheWordsOfAServerAreNoNews(t *testing.T) {
	first := summary.Check{Asked: 1, Silence: &summary.Silence{Failure: "x", Message: `not in http: it said "19:44". Fix it.`}}
	second := summary.Check{Asked: 1, Silence: &summary.Silence{Failure: "x", Message: `not in http: it said "19:45". Fix it.`}}
	NewWithT(t).Expect(compare(&first, second, false)).To(Equal(comparison{}))
}

// A backup Service may have hundreds of endpoints: those first by name speak for all.
func TestOnlySomeEndpointsAreAsked(t *testing.T) {
	g := NewWithT(t)
	var targets []protection.Target
	for _, port := range []string{"http", "grpc"} {
		for i := range 100 {
			targets = append(targets,
				asking(port, fmt.Sprintf("pod-%02d", i), fmt.Sprintf("10.0.0.%d", i)).Target,
				asking(port, fmt.Sprintf("pod-%02d", i), fmt.Sprintf("fd00::%d", i)).Target)
		}
	}
	asked := sample(targets)
	g.Expect(asked).To(HaveLen(2 * 2 * endpointsAtMost))
	for _, target := range asked {
		g.Expect(target.Pod()).To(HavePrefix("pod-0"))
	}
}
