package drill

import (
	"bytes"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/probe/command"
	"github.com/critical-service/operator/internal/protection"
)

const interval = 20 * time.Millisecond

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// script makes one observation per letter, an interval apart: a is the application, f
// the fallback, x something else, and '.' no answer.
func script(letters string) []command.Observation {
	var seen []command.Observation
	for i, letter := range letters {
		one := command.Observation{Target: "t", Sent: start.Add(time.Duration(i) * interval), Answered: true, Took: time.Millisecond}
		switch letter {
		case 'a':
			one.Status, one.Line, one.Title = "200", "HTTP/1.1 200 OK", "Shop"
		case 'f':
			one.Status, one.Line, one.Title = "503", "HTTP/1.1 503 Service Unavailable", "Back soon"
		case 'F': // The same page with other words.
			one.Status, one.Line, one.Title = "503", "HTTP/1.1 503 Service Unavailable", "Maintenance"
		case 'x':
			one.Status = "500"
		default:
			one.Answered, one.Problem = false, "refused the connection"
		}
		seen = append(seen, one)
	}
	return seen
}

var both = &signatures{application: []signature{signatureOf(script("a")[0])}, fallback: []signature{signatureOf(script("f")[0])}}

func TestWhatClientsLost(t *testing.T) {
	at := func(n int) time.Time { return start.Add(time.Duration(n) * interval) }
	ms := func(n int) Milliseconds { return milliseconds(time.Duration(n) * interval) }
	for sentence, test := range map[string]struct {
		script       string
		began, ended int
		by           *signatures
		want         Measurement
	}{
		"a failover without a gap": {
			script: "aaffaa", began: 1, ended: 3, by: both,
			want: Measurement{
				Requests: 5, Distinct: true, ByApplication: 3, ByFallback: 2,
				FallbackAfter: new(ms(1)), ApplicationAfter: new(ms(1)),
			},
		},
		"what was before does not count": {
			script: "..aff", began: 2, ended: 9, by: both,
			want: Measurement{Requests: 3, Distinct: true, ByApplication: 1, ByFallback: 2, FallbackAfter: new(ms(1))},
		},
		"gaps add up, and the longest is known": {
			script: "a.f..fa", began: 0, ended: 5, by: both,
			want: Measurement{
				Requests: 7, Failed: 3, Unanswered: ms(3), LongestGap: ms(2), Distinct: true, ByApplication: 2, ByFallback: 2,
				FallbackAfter: new(ms(2)), ApplicationAfter: new(ms(1)), Problem: "refused the connection",
			},
		},
		"an outage that is not covered": {
			script: "a...", began: 0, ended: 9, by: both,
			want: Measurement{
				Requests: 4, Failed: 3, Unanswered: ms(2), LongestGap: ms(2), Distinct: true, ByApplication: 1, Problem: "refused the connection",
			},
		},
		"a fallback that still answers beside the application": {
			script: "afafa", began: 0, ended: 0, by: both,
			want: Measurement{
				Requests: 5, Distinct: true, ByApplication: 3, ByFallback: 2,
				FallbackAfter: new(ms(1)), ApplicationAfter: new(ms(2)), OnlyApplicationAfter: new(ms(3)),
			},
		},
		"a page that changes its words is known by its status": {
			script: "aF", began: 0, ended: 9, by: both,
			want: Measurement{Requests: 2, Distinct: true, ByApplication: 1, ByFallback: 1, FallbackAfter: new(ms(1))},
		},
		"an answer of neither": {
			script: "ax", began: 0, ended: 9, by: both,
			want: Measurement{Requests: 2, Distinct: true, ByApplication: 1, ByOthers: 1},
		},
		"answers that look the same say nothing of their source": {
			script: "aa.a", began: 0, ended: 9, by: &signatures{application: both.application, fallback: both.application},
			want: Measurement{Requests: 4, Failed: 1, Unanswered: ms(1), LongestGap: ms(1), Problem: "refused the connection"},
		},
		"where the status is the same, the text decides": {
			script: "fF", began: 0, ended: 9, by: &signatures{application: []signature{signatureOf(script("f")[0])}, fallback: []signature{signatureOf(script("F")[0])}},
			want: Measurement{Requests: 2, Distinct: true, ByApplication: 1, ByFallback: 1, FallbackAfter: new(ms(1))},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			seen := script(test.script)
			seen[0], seen[len(seen)-1] = seen[len(seen)-1], seen[0] // Lines come in any order.
			g.Expect(measure(seen, test.by, at(test.began), at(test.ended))).To(Equal(test.want))
		})
	}
}

func service(ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: ports},
	}
}

// standbySlice is the slice of a page with two endpoints.
func standbySlice(names ...string) discoveryv1.EndpointSlice {
	slice := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		discoveryv1.LabelManagedBy: criticalv2.ManagedBy, discoveryv1.LabelServiceName: "front",
		criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
	}}}
	for i, name := range names {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: new(name), Port: new(int32(20001 + i))})
	}
	for _, pod := range []string{"one", "two"} {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{map[string]string{"one": "10.1.0.1", "two": "10.1.0.2"}[pod]}, TargetRef: &corev1.ObjectReference{Name: pod},
		})
	}
	return slice
}

func TestWhatADryRunAsks(t *testing.T) {
	g := NewWithT(t)
	front := service(corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "db", Port: 5432},
		corev1.ServicePort{Name: "own", Port: 9000}, corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP})
	own := standbySlice("http")
	own.Labels = map[string]string{discoveryv1.LabelServiceName: "front"}
	var asked []string
	for _, target := range protection.Targets(front, []discoveryv1.EndpointSlice{own, standbySlice("db", "http", "dns", "own")}) {
		asked = append(asked, target.Pod()+" "+argument(target))
	}
	g.Expect(asked).To(Equal([]string{
		"one 10.1.0.1:20002/http", "two 10.1.0.2:20002/http", "one 10.1.0.1:20001/postgresql", "two 10.1.0.2:20001/postgresql",
		"one 10.1.0.1:20004/http", "two 10.1.0.2:20004/http",
	}))
}

func TestWhatStandsByIsJudged(t *testing.T) {
	http, db := corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "db", Port: 5432}
	answer := func(target string, took time.Duration) command.Observation {
		return command.Observation{Target: target, Answered: true, Status: "503", Title: "Back soon", Bytes: 7, Took: took}
	}
	silence := func(target string) command.Observation {
		return command.Observation{Target: target, Problem: "refused"}
	}
	const one, two = "10.1.0.1:20001/http", "10.1.0.2:20001/http"
	good := []command.Observation{answer(one, time.Millisecond), answer(two, time.Millisecond), answer(one, 3*time.Millisecond), answer(two, time.Millisecond)}
	for sentence, test := range map[string]struct {
		ports []corev1.ServicePort
		seen  []command.Observation
		good  bool
		check func(g Gomega, r *DryRun)
	}{
		"all answer": {ports: []corev1.ServicePort{http}, seen: good, good: true, check: func(g Gomega, r *DryRun) {
			first := r.Endpoints[0]
			g.Expect(first.Answered).To(Equal(2))
			g.Expect(first.P50).To(BeEquivalentTo(1))
			g.Expect(first.Max).To(BeEquivalentTo(3))
			g.Expect(first.Title).To(Equal("Back soon"))
			g.Expect(first.signatures).To(HaveLen(2))
		}},
		"one does not answer once": {ports: []corev1.ServicePort{http}, seen: append(good[:3:3], silence(two)), check: func(g Gomega, r *DryRun) {
			g.Expect(r.Endpoints[1]).To(And(HaveField("Answered", 1), HaveField("Problem", "refused"), HaveField("Pod", "two")))
			g.Expect(r.Endpoints[0].Problem).To(BeEmpty())
		}},
		"one was not asked often enough": {ports: []corev1.ServicePort{http}, seen: good[:3], check: func(g Gomega, r *DryRun) {
			g.Expect(r.Endpoints[1].Problem).To(ContainSubstring("not asked"))
		}},
		"a port without a standby": {ports: []corev1.ServicePort{http, db}, seen: good, check: func(g Gomega, r *DryRun) {
			g.Expect(r.Problems).To(Equal([]string{"nothing stands by for port db"}))
		}},
		"a port of UDP is a note": {ports: []corev1.ServicePort{http, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}, seen: good, good: true, check: func(g Gomega, r *DryRun) {
			g.Expect(r.Notes).To(ConsistOf(ContainSubstring("port dns is UDP")))
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			front := service(test.ports...)
			r := judge(front, protection.Targets(front, []discoveryv1.EndpointSlice{standbySlice("http")}), test.seen, 2)
			g.Expect(r.Good).To(Equal(test.good))
			test.check(g, r)
		})
	}
}

func TestAProberPodMayRunAnywhere(t *testing.T) {
	g := NewWithT(t)
	p := &prober{namespace: "shop", image: "operator:v1", host: "front.shop.svc"}
	pod := p.pod(command.Options{Targets: []string{"10.0.0.1:80/http", "[fd00::1]:80/http"}, Tries: 3, Every: interval, For: time.Minute}, 90*time.Second)
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		g.Expect(result.Allowed).To(BeTrue(), result.ForbiddenDetail)
	}
	g.Expect(pod.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	g.Expect(pod.Spec.ActiveDeadlineSeconds).To(HaveValue(BeEquivalentTo(90)))
	g.Expect(pod.Spec.Containers[0].Resources.Limits).To(And(HaveKey(corev1.ResourceCPU), HaveKey(corev1.ResourceMemory)))

	// The program understands its arguments.
	cmd := command.Command()
	args := pod.Spec.Containers[0].Args
	g.Expect(pod.Spec.Containers[0].Command).To(Equal([]string{"/responder"}))
	g.Expect(args[0]).To(Equal(command.Name))
	g.Expect(cmd.ParseFlags(args[1:])).To(Succeed())
	targets, err := cmd.Flags().GetStringSlice(command.FlagTarget)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(targets).To(Equal([]string{"10.0.0.1:80/http", "[fd00::1]:80/http"}))
	for name, want := range map[string]string{command.FlagTries: "3", command.FlagEvery: "20ms", command.FlagFor: "1m0s", command.FlagHost: "front.shop.svc"} {
		g.Expect(cmd.Flag(name).Value.String()).To(Equal(want), name)
	}
}

func TestAnErrorOfTheProberIsReported(t *testing.T) {
	g := NewWithT(t)
	var seen []command.Observation
	each := func(one command.Observation) bool {
		seen = append(seen, one)
		return len(seen) == 2
	}
	g.Expect(read(bytes.NewBufferString("{\"target\":\"a\"}\nError: unknown command \"probe\"\n"), each)).
		To(MatchError(ContainSubstring(`unknown command "probe"`)))
	g.Expect(read(bytes.NewBufferString("{\"target\":\"b\"}\nnonsense\n"), each)).To(Succeed(), "it had enough before")
	g.Expect(seen).To(HaveLen(2))
}

func TestAnImageWithoutTheProberIsAnError(t *testing.T) {
	g := NewWithT(t)
	ended := func(state corev1.ContainerStateTerminated) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &state}}}}}
	}
	g.Expect(startError(ended(corev1.ContainerStateTerminated{Reason: "StartError", Message: "exec: \"/responder\": no such file"}))).
		To(MatchError(And(ContainSubstring(`StartError exec: "/responder": no such file`), ContainSubstring("as new as this plugin"))))
	g.Expect(startError(ended(corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1}))).To(Succeed(), "its output says why")
	g.Expect(startError(&corev1.Pod{})).To(Succeed())
}

func TestFlagsThatAreOutOfRange(t *testing.T) {
	fine := options{tries: 10, length: 30 * time.Second, maxGap: time.Second, every: interval}
	for sentence, test := range map[string]struct {
		change func(*options)
		want   string
	}{
		"all is in range":      {func(*options) {}, ""},
		"no tries":             {func(o *options) { o.tries = 0 }, "--tries 0"},
		"an outage of an hour": {func(o *options) { o.length = time.Hour }, "1s to 10m0s"},
		"an outage of nothing": {func(o *options) { o.length = 0 }, "--for 0s"},
		"a flood":              {func(o *options) { o.every = time.Millisecond }, "--every 1ms"},
		"no gap at all":        {func(o *options) { o.maxGap = 0 }, "--max-gap"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			o := fine
			test.change(&o)
			if test.want == "" {
				g.Expect(o.validate()).To(Succeed())
				return
			}
			g.Expect(o.validate()).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

// The page is asked by HTTP where nothing else is known of a port; clients are not, so
// that their answers say nothing of their source.
func TestAPortOfAnUnknownProtocolIsMeasuredByItsGapsOnly(t *testing.T) {
	g := NewWithT(t)
	dryRun := &DryRun{Endpoints: []Endpoint{{Port: "x", Protocol: "http", signatures: []signature{signatureOf(script("f")[0])}}}}
	ports := portsOf(service(corev1.ServicePort{Name: "x", Port: 9000}), dryRun)
	g.Expect(ports).To(HaveLen(1))
	g.Expect(ports[0].target).To(Equal("10.0.0.1:9000/tcp"))
	ports[0].by.application = []signature{{status: "open"}}
	g.Expect(ports[0].by.distinct()).To(BeFalse())
}

func TestTheSourceOfAnAnswerIsRecognized(t *testing.T) {
	g := NewWithT(t)
	front := service(corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "silent", Port: 81})
	dryRun := &DryRun{Endpoints: []Endpoint{{Port: "http", Protocol: "http", signatures: []signature{signatureOf(script("f")[0])}}}}
	w := &watching{ports: portsOf(front, dryRun)}
	g.Expect(w.targets()).To(Equal([]string{"10.0.0.1:80/http"}), "what has no standby is not measured")

	// The prober's clock is an hour behind, and lines take at least 5 ms.
	const ahead, line = time.Hour, 5 * time.Millisecond
	add := func(letter string, n int) {
		one := script(letter)[0]
		one.Target, one.Sent = "10.0.0.1:80/http", start.Add(time.Duration(n)*interval)
		w.add(one, one.Sent.Add(one.Took+ahead+line+time.Duration(n%3)*time.Millisecond))
	}
	g.Expect(w.knowsApplication()).To(BeFalse())
	for n := range baseline {
		add("a", n)
	}
	g.Expect(w.knowsApplication()).To(BeTrue())
	here := start.Add(ahead + line)
	g.Expect(w.proberTime(here)).To(BeTemporally("==", start))
	ended := here.Add(baseline * interval)
	g.Expect(w.applicationIsBack(ended)).To(BeFalse(), "these answers were before")
	add("f", baseline+1)
	for n := range baseline {
		g.Expect(w.applicationIsBack(ended)).To(BeFalse())
		add("a", baseline+2+n)
	}
	g.Expect(w.applicationIsBack(ended)).To(BeTrue())

	live := &Live{Began: ended, Ended: ended, Recovered: true}
	w.judge(live, time.Second)
	g.Expect(live.Problems).To(BeEmpty())
	g.Expect(live.Good).To(BeTrue())
	g.Expect(live.Ports).To(ConsistOf(And(HaveField("ByFallback", 1), HaveField("Port", "http"))))

	add(".", 200)
	add("a", 300)
	live = &Live{Began: ended, Ended: ended}
	w.judge(live, time.Second)
	g.Expect(live.Good).To(BeFalse())
	g.Expect(live.Problems).To(ConsistOf(ContainSubstring("on port http there was no answer for 2s, and 1s was allowed"), ContainSubstring("did not answer again")))
}

// What the documentation shows is what is printed.
func TestTheResultReadsAsDocumented(t *testing.T) {
	g := NewWithT(t)
	result := &Result{
		Namespace: "shop", Service: "web", Good: true,
		DryRun: &DryRun{Good: true, Endpoints: []Endpoint{
			{Port: "http", Protocol: "http", Pod: "critical-service-responder-a", Tries: 10, Answered: 10, Status: "503", Line: "HTTP/1.1 503 Service Unavailable", Title: "Back soon", Bytes: 2411, P50: 1.25, Max: 31},
			{Port: "db", Protocol: "postgresql", Pod: "critical-service-responder-a", Tries: 10, Answered: 10, Status: "57P03", Line: "E SFATAL VFATAL C57P03 MBack soon.", Bytes: 75, P50: 0.61, Max: 2.13},
		}},
		Live: &Live{Good: true, Recovered: true, Began: start, Ended: start.Add(30 * time.Second), Ports: []Measurement{
			{Port: "http", Requests: 1641, Failed: 3, Unanswered: 60, LongestGap: 60, Distinct: true, FallbackAfter: new(Milliseconds(1204)), ApplicationAfter: new(Milliseconds(2512))},
			{Port: "db", Requests: 1641},
		}},
	}
	var out bytes.Buffer
	write(&out, output.Palette(false), &options{maxGap: 2 * time.Second}, result)
	documented, err := os.ReadFile("../../../../docs/plugin.md")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(documented)).To(ContainSubstring("$ kubectl critsvc drill svc/web -n shop --live --yes\n"+out.String()+"```"), out.String())

	result.Good, result.Live = false, nil
	result.DryRun.Endpoints[0].Problem = "refused the connection"
	out.Reset()
	write(&out, output.Palette(false), &options{}, result)
	g.Expect(out.String()).To(HaveSuffix("  problem: port http: Pod critical-service-responder-a refused the connection\n\nWhat stands by does not answer as it should.\n"))
}
