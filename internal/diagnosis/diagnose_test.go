package diagnosis_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/diagnosis"
)

func TestEachScenarioIsExplained(t *testing.T) {
	for name, scenario := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(diagnosis.Diagnose(scenario.evidence(t)).OutageCause).To(Equal(scenario.Want), scenario.Story)
		})
	}
}

func TestEachCauseHasAScenario(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for _, scenario := range scenarios(t) {
		seen[scenario.Want.Reason] = true
	}
	for _, reason := range []string{
		criticalv2.CauseNotFound, criticalv2.CauseNoMatchingPods, criticalv2.CauseScaledToZero, criticalv2.CausePodsRefused,
		criticalv2.CauseUnschedulable, criticalv2.CauseImagePull, criticalv2.CauseContainerConfig, criticalv2.CauseOutOfMemory,
		criticalv2.CauseCrashLoop, criticalv2.CauseProbeFailing, criticalv2.CauseReadinessGate, criticalv2.CauseTargetPortMissing,
		criticalv2.CauseNodeLost, criticalv2.CausePodsStarting, criticalv2.CausePodsEnded,
	} {
		g.Expect(seen).To(HaveKey(reason))
	}
}

func TestTheOrderOfListsDoesNotMatter(t *testing.T) {
	all := scenarios(t)
	for name, scenario := range all {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(len(name))))
			for range 20 {
				e := scenario.evidence(t)
				shuffle(random, &e)
				NewWithT(t).Expect(diagnosis.Diagnose(e).OutageCause).To(Equal(scenario.Want))
			}
		})
	}
}

// shuffle puts every list of the evidence into another order.
func shuffle(random *rand.Rand, e *diagnosis.Evidence) {
	for _, field := range reflect.ValueOf(e).Elem().Fields() {
		if field.Kind() == reflect.Slice {
			random.Shuffle(field.Len(), reflect.Swapper(field.Interface()))
		}
	}
}

// Half of a scenario proves less, and never something else that is specific.
func TestWhatIsNotReadProvesNothing(t *testing.T) {
	for name, scenario := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			whole := scenario.evidence(t)

			e := whole
			e.PodsUnread, e.Pods = true, nil
			g.Expect(diagnosis.Diagnose(e).Reason).To(Equal(criticalv2.CauseNotFound))

			e = whole
			e.Deployments, e.StatefulSets, e.DaemonSets, e.ReplicaSets, e.WorkloadsUnread = nil, nil, nil, nil, true
			g.Expect(diagnosis.Diagnose(e).Reason).To(BeElementOf(scenario.Want.Reason, criticalv2.CauseNotFound))
			if len(e.Pods) == 0 {
				g.Expect(diagnosis.Diagnose(e).Reason).To(Equal(criticalv2.CauseNotFound))
			}

			e = whole
			e.Events = nil
			g.Expect(diagnosis.Diagnose(e).Reason).To(BeElementOf(scenario.Want.Reason,
				criticalv2.CauseNotFound, criticalv2.CausePodsStarting, criticalv2.CauseCrashLoop))

			e = whole
			e.Nodes = nil
			g.Expect(diagnosis.Diagnose(e).Reason).To(BeElementOf(scenario.Want.Reason, criticalv2.CauseNotFound))
		})
	}
}

// Events are of the past. What happened long ago does not explain the present.
func TestAnOldEventProvesNothing(t *testing.T) {
	for name, now := range map[string]criticalv2.OutageCause{
		"volume-missing":    {Reason: criticalv2.CausePodsStarting},
		"quota-statefulset": {Reason: criticalv2.CauseNotFound},
	} {
		scenario := scenarios(t)[name]
		e := scenario.evidence(t)
		e.Now = e.Now.Add(time.Hour)
		NewWithT(t).Expect(diagnosis.Diagnose(e).Reason).To(Equal(now.Reason), name)
	}
}

func TestTheCauseThatMostPodsHaveIsSaid(t *testing.T) {
	all := scenarios(t)
	crash, image, gate := all["crash-loop"].evidence(t), all["image-missing"].evidence(t), all["readiness-gate"].evidence(t)
	tests := map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"two of three crash": {
			append(crash.Pods[:2:2], image.Pods[0]), "CrashLoop: Container \"web\" of Pod \"shop-fc6dbc5c9-9m8sh\" (2 of 3 Pods)",
		},
		"two of three have no image": {
			append(image.Pods[:2:2], crash.Pods[0]), "ImagePull: Container \"web\" of Pod \"shop-77d988cc77-qrslt\" (2 of 3 Pods)",
		},
		"of as many, what is worse comes first": {
			[]corev1.Pod{gate.Pods[0], image.Pods[0], crash.Pods[0]}, "CrashLoop: Container \"web\" of Pod \"shop-fc6dbc5c9-9m8sh\" (1 of 3 Pods)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := crash
			e.Pods = test.pods
			NewWithT(t).Expect(textOf(diagnosis.Diagnose(e).OutageCause)).To(HavePrefix(test.want))
		})
	}
	many := crash
	many.MorePods = true
	NewWithT(t).Expect(diagnosis.Diagnose(many).Message).To(ContainSubstring("(2 of the first 2 Pods)"))
}

// Whatever objects hold, there is one sentence that a status and an event can hold.
func TestAnyEvidenceGivesASentence(t *testing.T) {
	fill := randfill.NewWithSeed(1).NilChance(0.3).NumElements(0, 3).MaxDepth(14).Funcs(
		func(fields *metav1.FieldsV1, c randfill.Continue) { fields.SetRawBytes([]byte(c.String(20))) },
		func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(c.Int63n(1<<33), 0) },
	)
	for range 300 {
		var e diagnosis.Evidence
		fill.Fill(&e.Service)
		fill.Fill(&e.Pods)
		fill.Fill(&e.Deployments)
		fill.Fill(&e.DaemonSets)
		fill.Fill(&e.Autoscalers)
		fill.Fill(&e.Nodes)
		fill.Fill(&e.Events)
		isSentence(t, diagnosis.Diagnose(e).OutageCause)
		for i := range e.Pods { // Random phases are none that exist; make Pods that are looked at.
			e.Pods[i].DeletionTimestamp = nil
			e.Pods[i].Status.Conditions = nil
		}
		if e.Service != nil {
			e.Service.Spec.Selector = map[string]string{"app": "shop"}
			e.PodsUnread = false
		}
		isSentence(t, diagnosis.Diagnose(e).OutageCause)
	}
	isSentence(t, diagnosis.Diagnose(diagnosis.Evidence{}).OutageCause)
	isSentence(t, diagnosis.Diagnose(diagnosis.Evidence{
		Service: &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}}},
		Pods:    make([]corev1.Pod, 3), Deployments: make([]appsv1.Deployment, 1), Nodes: make([]corev1.Node, 1),
	}).OutageCause)
}

func isSentence(t *testing.T, cause criticalv2.OutageCause) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(cause.Reason).NotTo(BeEmpty())
	g.Expect(cause.Message).To(HaveSuffix("."))
	g.Expect(strings.ContainsAny(cause.Message, "\n\r\t")).To(BeFalse(), cause.Message)
	g.Expect(len(cause.Message)).To(BeNumerically("<=", 1024))
	g.Expect(utf8.ValidString(cause.Message)).To(BeTrue())
}

func TestTheNearestLabels(t *testing.T) {
	tests := map[string]struct {
		selector, labels map[string]string
		near             string
	}{
		"a character is missing":               {set("app", "shop"), set("app", "sho"), "carry app=sho"},
		"two characters are swapped":           {set("app", "storefront"), set("app", "sotrefront"), "carry app=sotrefront"},
		"another case":                         {set("app", "shop"), set("app", "Shop"), "carry app=Shop"},
		"another application is not near":      {set("app", "shop"), set("app", "cart"), ""},
		"short names are not near each other":  {set("app", "db"), set("app", "dc"), ""},
		"the value under another usual key":    {set("app", "shop"), set("k8s-app", "shop"), "carry k8s-app=shop"},
		"the value under any other key is not": {set("app", "shop"), set("team", "shop"), ""},
		"a label more is missing":              {set("app", "shop", "track", "stable"), set("app", "shop"), "carry no label track"},
		"a label more is another one":          {set("app", "shop", "track", "stable"), set("app", "shop", "track", "canary"), "carry track=canary"},
		"two labels are other ones":            {set("app", "shop", "track", "stable"), set("app", "shopp", "track", "canary"), ""},
		"another application of the same tier": {set("app", "shop", "tier", "web"), set("app", "cart", "tier", "web"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := scenarios(t)["nothing-there"].evidence(t)
			e.Service.Spec.Selector = test.selector
			e.OtherPods = nil
			e.Deployments[0].Spec.Template.Labels = test.labels
			message := diagnosis.Diagnose(e).Message
			if test.near == "" {
				NewWithT(t).Expect(message).NotTo(ContainSubstring("carry"))
			} else {
				NewWithT(t).Expect(message).To(HaveSuffix(`; Pods of Deployment "backoffice" ` + test.near + "."))
			}
		})
	}
}

func set(pairs ...string) map[string]string {
	made := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		made[pairs[i]] = pairs[i+1]
	}
	return made
}

// What programs say as they end is shown, without secrets.
func TestSecretsAreNotShown(t *testing.T) {
	for said, want := range map[string]string{
		"cannot connect to postgres://shop:hunter2@db:5432/shop":                     "cannot connect to postgres://…@db:5432/shop.",
		"GET https://blobs.example.com/x?sig=hunter2&se=2026 failed":                 "GET https://blobs.example.com/x?… failed.",
		"config: password=hunter2 user=shop":                                         "config: password=… user=shop.",
		`{"db_password": "hunter2", "host": "db"}`:                                   `{"db_password": …, "host": "db"}.`,
		"Authorization: Bearer hunter2":                                              "Authorization: ….",
		"API_KEY=hunter2":                                                            "API_KEY=….",
		"bad token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJodW50ZXIyIn0.sig": "bad token ….",
		"hmac 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b is not valid":                 "hmac … is not valid.",
		"no /var/run/secrets/kubernetes/serviceaccount/token":                        "no /var/run/secrets/kubernetes/serviceaccount/token.",
		"NoUniqueBeanDefinitionExceptionInTheApplicationContext":                     "NoUniqueBeanDefinitionExceptionInTheApplicationContext.",
		"two\nlines\tof text":                                                        "two lines of text.",
	} {
		e := scenarios(t)["crash-loop"].evidence(t)
		for i := range e.Pods {
			e.Pods[i].Status.ContainerStatuses[0].LastTerminationState.Terminated.Message = said
		}
		message := diagnosis.Diagnose(e).Message
		NewWithT(t).Expect(message).To(HaveSuffix("saying: " + want))
		NewWithT(t).Expect(message).NotTo(ContainSubstring("hunter2"))
	}

	e := scenarios(t)["crash-loop"].evidence(t)
	for i := range e.Pods {
		e.Pods[i].Status.ContainerStatuses[0].LastTerminationState.Terminated.Message = strings.Repeat("a long story, ", 100)
	}
	_, said, _ := strings.Cut(diagnosis.Diagnose(e).Message, "saying: ")
	NewWithT(t).Expect(len(said)).To(BeNumerically("<=", 201))
	NewWithT(t).Expect(said).To(HaveSuffix("….")) // It is cut, and the sentence ends.
}
