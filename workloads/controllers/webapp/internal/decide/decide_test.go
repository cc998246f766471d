package decide_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

func TestAllThatANewWebAppNeedsIsMadeAtOnce(t *testing.T) {
	g := NewWithT(t)
	plan := decide.Decide(decide.Snapshot{Now: now, WebApp: webApp(autoscaled), MeterImage: "workloads:1", Fallback: fallback.Seen{Served: true}})
	g.Expect(pageOf(&plan)).NotTo(BeNil())
	g.Expect(plan.Service.Spec.Ports[0].TargetPort.StrVal).To(Equal("http"))
	g.Expect(plan.Database.Spec.Type).To(Equal(workloadsv1.DatabaseMySQL))
	g.Expect(*plan.Deployment.Spec.Replicas).To(Equal(int32(2)))
	g.Expect(plan.Deployment.Spec.Template.Spec.InitContainers).To(HaveLen(1))
	g.Expect(plan.Budget).NotTo(BeNil())
	g.Expect(plan.Follow).To(BeTrue())
	g.Expect(condition(&plan, workloadsv1.ConditionReady).Reason).To(Equal(workloadsv1.ReasonStarting))
}

func TestHowAWebAppStands(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		ready  metav1.ConditionStatus
		reason string
		says   string
	}{
		"it answers": {func(*decide.Snapshot) {}, metav1.ConditionTrue, workloadsv1.ReasonRunning, "answers at web.shop.svc:80"},
		"its database would get another engine": {func(s *decide.Snapshot) { s.WebApp.Spec.DBImage, s.WebApp.Spec.Image = "mongo:4.0", "web:2" },
			metav1.ConditionFalse, workloadsv1.ReasonDatabaseTypeChanged, "Until then, the application answers as it did."},
		"the engine of its database is not known any more": {func(s *decide.Snapshot) { s.WebApp.Spec.DBImage = "registry.example.com/db:1" },
			metav1.ConditionFalse, workloadsv1.ReasonDatabaseTypeUnknown, "Until then, the application answers as it did."},
		"its database is another user's": {func(s *decide.Snapshot) {
			s.Database = s.Database.DeepCopy()
			s.Database.ObjectMeta = foreign("web-db")
		}, metav1.ConditionFalse, workloadsv1.ReasonNameTaken, `Database "web-db" belongs to another user`},
		"its Pods are to have a meter whose image is not known": {func(s *decide.Snapshot) { autoscaled(s.WebApp); s.MeterImage = "" },
			metav1.ConditionFalse, workloadsv1.ReasonCreateDenied, "set its WORKLOADS_IMAGE"},
		"the image of the meter cannot be pulled": {func(s *decide.Snapshot) {
			s.Pods = []*corev1.Pod{unmetered()}
			s.Deployment.Status.ReadyReplicas = 0
		}, metav1.ConditionFalse, workloadsv1.ReasonImagePullFailing, `Image "workloads:bad" of the meter cannot be pulled`},
		"a Deployment of another has its name": {func(s *decide.Snapshot) { s.Deployment.ObjectMeta = foreign("web") },
			metav1.ConditionFalse, workloadsv1.ReasonNameTaken, `Deployment "web" belongs to another user`},
		"a Service of another has its name": {func(s *decide.Snapshot) { s.Service = &corev1.Service{ObjectMeta: foreign("web")} },
			metav1.ConditionFalse, workloadsv1.ReasonNameTaken, `Service "web" belongs to another user`},
		"a Service of an earlier WebApp is about to go": {func(s *decide.Snapshot) {
			s.Service = s.Service.DeepCopy()
			s.Service.OwnerReferences[0].UID = "of-an-earlier-one"
		}, metav1.ConditionFalse, workloadsv1.ReasonReplacing, "of an earlier WebApp"},
		"its AppConfig is missing": {func(s *decide.Snapshot) { s.WebApp.Spec.ConfigName = "settings" },
			metav1.ConditionFalse, workloadsv1.ReasonConfigMissing, `AppConfig "settings" does not exist`},
		"a limit cannot be read": {func(s *decide.Snapshot) {
			s.WebApp.Spec.Pod.Resources.Limits = workloadsv1.Quantities{corev1.ResourceMemory: "1e.5"}
		}, metav1.ConditionFalse, workloadsv1.ReasonCreateDenied, "spec.pod.resources.limits"},
		"the API server refuses it": {func(s *decide.Snapshot) {
			s.Refusals = map[decide.Subject]decide.Refusal{decide.OfApplication: {Message: "no such thing"}}
		}, metav1.ConditionFalse, workloadsv1.ReasonCreateDenied, "no such thing"},
		"a quota refuses its Pods": {func(s *decide.Snapshot) {
			s.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: pods"}}
		}, metav1.ConditionFalse, workloadsv1.ReasonCreateDenied, "exceeded quota: pods"},
		"its image cannot be pulled, and the old Pods answer": {func(s *decide.Snapshot) {
			s.Pods = []*corev1.Pod{failing("ImagePullBackOff")}
			s.Deployment.Status.UpdatedReplicas = 1
		}, metav1.ConditionFalse, workloadsv1.ReasonImagePullFailing, "Until then, the application answers as it did."},
		"it ends again and again": {func(s *decide.Snapshot) { s.Pods = []*corev1.Pod{failing("CrashLoopBackOff")} },
			metav1.ConditionFalse, workloadsv1.ReasonPodFailing, "does not stay up"},
		"no node takes a Pod": {func(s *decide.Snapshot) {
			pod := failing("")
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}}
			s.Pods = []*corev1.Pod{pod}
		}, metav1.ConditionFalse, workloadsv1.ReasonUnschedulable, "0/3 nodes"},
		"a Pod that ends is no problem": {func(s *decide.Snapshot) {
			pod := failing("CrashLoopBackOff")
			pod.DeletionTimestamp = new(metav1.NewTime(now))
			s.Pods = []*corev1.Pod{pod}
		}, metav1.ConditionTrue, workloadsv1.ReasonRunning, ""},
		"a new image is rolled out": {func(s *decide.Snapshot) { s.WebApp.Spec.Image = "web:2" },
			metav1.ConditionFalse, workloadsv1.ReasonReplacing, "rolling out"},
		"no Pod is ready": {func(s *decide.Snapshot) { s.Deployment.Status.ReadyReplicas = 0 },
			metav1.ConditionFalse, workloadsv1.ReasonStarting, "are starting"},
		"it has no Pods": {func(s *decide.Snapshot) {
			s.WebApp.Spec.Replicas = new(int32(0))
			*s = settle(*s)
		}, metav1.ConditionFalse, workloadsv1.ReasonSuspended, "spec.replicas is 0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := running()
			c.change(&s)
			plan := decide.Decide(s)
			ready := condition(&plan, workloadsv1.ConditionReady)
			g.Expect(ready.Status).To(Equal(c.ready), ready.Message)
			g.Expect(ready.Reason).To(Equal(c.reason))
			g.Expect(ready.Message).To(ContainSubstring(c.says))
		})
	}
}

func TestHowItsDatabaseStands(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		reason string
		writes bool
	}{
		"there is none":              {func(s *decide.Snapshot) { s.WebApp.Spec.DBImage, s.WebApp.Spec.DBSize, s.Database = "", "", nil }, workloadsv1.ReasonNoDatabase, false},
		"it says nothing yet":        {func(*decide.Snapshot) {}, workloadsv1.ReasonDatabasePending, false},
		"it answers":                 {func(s *decide.Snapshot) { answers(s.Database) }, workloadsv1.ReasonRunning, false},
		"its size grows":             {func(s *decide.Snapshot) { s.WebApp.Spec.DBSize = "2Gi" }, workloadsv1.ReasonDatabasePending, true},
		"its image changes":          {func(s *decide.Snapshot) { s.WebApp.Spec.DBImage = "mysql:8.4" }, workloadsv1.ReasonDatabasePending, true},
		"its engine would change":    {func(s *decide.Snapshot) { s.WebApp.Spec.DBImage = "mongo:4.0" }, workloadsv1.ReasonDatabaseTypeChanged, false},
		"its engine is not known":    {func(s *decide.Snapshot) { s.WebApp.Spec.DBImage = "oracle:23" }, workloadsv1.ReasonDatabaseTypeUnknown, false},
		"it belongs to another user": {func(s *decide.Snapshot) { s.Database.ObjectMeta = foreign("web-db") }, workloadsv1.ReasonNameTaken, false},
		"what it said is of an earlier spec": {func(s *decide.Snapshot) {
			answers(s.Database)
			s.Database.Generation++
		}, workloadsv1.ReasonDatabasePending, false},
		"the API server refuses it": {func(s *decide.Snapshot) {
			s.Refusals = map[decide.Subject]decide.Refusal{decide.OfDatabase: {Message: "exceeded quota"}}
		}, workloadsv1.ReasonCreateDenied, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := running()
			s.Database = s.Database.DeepCopy()
			c.change(&s)
			plan := decide.Decide(s)
			g.Expect(condition(&plan, workloadsv1.ConditionDatabaseReady).Reason).To(Equal(c.reason))
			g.Expect(plan.Database != nil).To(Equal(c.writes))
			switch c.reason {
			case workloadsv1.ReasonDatabaseTypeChanged, workloadsv1.ReasonDatabaseTypeUnknown, workloadsv1.ReasonNameTaken:
				g.Expect(plan.Deployment).To(BeNil(), "its variables stay")
			}
		})
	}
}

func TestHowManyPodsThereAre(t *testing.T) {
	seen := scale.Memory{Since: now.Add(-6 * 60 * 1e9), Steps: []scale.Recommendation{{At: now, Pods: 2}}}
	for sentence, c := range map[string]struct {
		change  func(*decide.Snapshot)
		scale   *int32
		desired int32
		reason  string
	}{
		"three times the threshold asks for more":           {func(s *decide.Snapshot) { serves(s, 600) }, new(int32(6)), 6, workloadsv1.ReasonTrafficKnown},
		"less traffic asks for fewer":                       {func(s *decide.Snapshot) { serves(s, 50); s.Memory = seen }, new(int32(1)), 1, workloadsv1.ReasonTrafficKnown},
		"an operator that has just started takes none away": {func(s *decide.Snapshot) { serves(s, 50); s.Memory = scale.Memory{} }, nil, 2, workloadsv1.ReasonTrafficKnown},
		"without traffic that is known there are as many":   {func(*decide.Snapshot) {}, nil, 2, workloadsv1.ReasonTrafficUnknown},
		"an autoscaler of the Deployment decides": {func(s *decide.Snapshot) {
			serves(s, 600)
			s.Autoscaler = decide.Autoscaler{Name: "own", OfDeployment: true}
		}, nil, 2, workloadsv1.ReasonAutoscalerPresent},
		"an autoscaler of the WebApp is not fought": {func(s *decide.Snapshot) {
			serves(s, 600)
			s.Autoscaler = decide.Autoscaler{Name: "own"}
		}, nil, 2, workloadsv1.ReasonAutoscalerPresent},
		"a refusal is said": {func(s *decide.Snapshot) {
			serves(s, 600)
			s.Refusals = map[decide.Subject]decide.Refusal{decide.OfScale: {Message: "no"}}
		}, new(int32(6)), 6, workloadsv1.ReasonScaleDenied},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := running(autoscaled)
			s.Memory = scale.Memory{}
			c.change(&s)
			plan := decide.Decide(s)
			g.Expect(plan.Scale).To(Equal(c.scale))
			g.Expect(plan.Status.DesiredReplicas).To(Equal(c.desired))
			g.Expect(condition(&plan, workloadsv1.ConditionScalingActive).Reason).To(Equal(c.reason))
		})
	}
}

// What an autoscaler of the cluster sets by the scale subresource is spec.replicas.
func TestAnAutoscalerOfTheWebAppIsFollowed(t *testing.T) {
	g := NewWithT(t)
	s := running()
	s.Autoscaler = decide.Autoscaler{Name: "own"}
	s.WebApp.Spec.Replicas = new(int32(7))
	plan := decide.Decide(s)
	g.Expect(*plan.Deployment.Spec.Replicas).To(Equal(int32(7)))
	g.Expect(condition(&plan, workloadsv1.ConditionScalingActive)).To(Equal(metav1.Condition{}))
}

func TestAnAutoscalerOfTheDeploymentIsNotFought(t *testing.T) {
	g := NewWithT(t)
	s := running()
	s.Autoscaler = decide.Autoscaler{Name: "own", OfDeployment: true}
	s.Deployment.Spec.Replicas = new(int32(9))
	plan := decide.Decide(s)
	g.Expect(plan.IsEmpty()).To(BeTrue())
	g.Expect(condition(&plan, workloadsv1.ConditionScalingActive).Message).To(ContainSubstring("let it target the WebApp"))
	s.WebApp.Spec.Image = "web:2"
	g.Expect(*decide.Decide(s).Deployment.Spec.Replicas).To(Equal(int32(9)), "another image leaves the number")
}

func TestAutoscalingThatIsSwitchedOffLeavesNothingBehind(t *testing.T) {
	g := NewWithT(t)
	s := running(autoscaled)
	s.WebApp.Spec.AutoScaleEnabled = false
	plan := decide.Decide(s)
	g.Expect(plan.Deployment).NotTo(BeNil(), "the meter has to go")
	g.Expect(plan.Deployment.Spec.Template.Spec.InitContainers).To(BeEmpty())
	g.Expect(plan.Service).To(BeNil(), "it leads to both kinds of Pods, by the name of their port")
	g.Expect(plan.Follow).To(BeFalse())
	g.Expect(condition(&plan, workloadsv1.ConditionScalingActive)).To(Equal(metav1.Condition{}))
}

func TestWhatTheSpecNoLongerSaysGoes(t *testing.T) {
	for sentence, c := range map[string]struct{ with, without func(*workloadsv1.WebApp) }{
		"a limit": {func(a *workloadsv1.WebApp) {
			a.Spec.Pod.Resources.Limits = workloadsv1.Quantities{corev1.ResourceMemory: "1Gi"}
		}, func(a *workloadsv1.WebApp) { a.Spec.Pod.Resources.Limits = nil }},
		"a toleration": {func(a *workloadsv1.WebApp) { a.Spec.Pod.Tolerations = []workloadsv1.Toleration{{Key: "a"}} },
			func(a *workloadsv1.WebApp) { a.Spec.Pod.Tolerations = nil }},
		"a node selector": {func(a *workloadsv1.WebApp) { a.Spec.Pod.NodeSelector = map[string]string{"disk": "ssd"} },
			func(a *workloadsv1.WebApp) { a.Spec.Pod.NodeSelector = nil }},
		"the meter, for a counter of the application": {autoscaled, func(a *workloadsv1.WebApp) {
			a.Spec.TrafficSource = &workloadsv1.TrafficSource{Port: 9090, Path: "/metrics", Metric: "requests_total"}
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := running(c.with)
			g.Expect(decide.Decide(s).Deployment).To(BeNil())
			c.without(s.WebApp)
			g.Expect(decide.Decide(s).Deployment).NotTo(BeNil())
		})
	}
}

// The application may count whatever it likes.
func TestARateIsSaidInFewLetters(t *testing.T) {
	for sentence, c := range map[string]struct {
		rate float64
		says string
	}{
		"nothing":           {0, "0"},
		"next to nothing":   {1e-300, "0"},
		"few":               {0.0333, "0.033"},
		"many":              {123_456, "120000"},
		"more than can be":  {1e300, "1000000000000"},
		"a number as usual": {240, "240"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := running(autoscaled)
			serves(&s, c.rate)
			NewWithT(t).Expect(decide.Decide(s).Status.RequestsPerSecond).To(Equal(c.says))
		})
	}
}

func TestSettingsThatAreMissingKeepWhatRuns(t *testing.T) {
	g := NewWithT(t)
	s := running(func(a *workloadsv1.WebApp) { a.Spec.ConfigName = "settings" })
	g.Expect(s.Deployment).To(BeNil(), "nothing starts without its settings")
	g.Expect(s.Service).NotTo(BeNil(), "its clients get the page")
	s.Config = "settings-1"
	s = settle(s)
	g.Expect(s.Deployment.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name).To(Equal("settings-1"))
	s.Config, s.WebApp.Spec.Image = "", "web:2"
	g.Expect(decide.Decide(s).Deployment).To(BeNil())
}

func TestOneThatIsDeletedNeedsNothing(t *testing.T) {
	s := running()
	s.WebApp.DeletionTimestamp = new(metav1.NewTime(now))
	plan := decide.Decide(s)
	NewWithT(t).Expect(plan.IsEmpty()).To(BeTrue())
}

func TestMessagesAreBounded(t *testing.T) {
	g := NewWithT(t)
	s := running(autoscaled)
	long := decide.Refusal{Message: strings.Repeat("x", 100_000)}
	s.Refusals = map[decide.Subject]decide.Refusal{decide.OfApplication: long, decide.OfDatabase: long, decide.OfScale: long}
	for _, c := range decide.Decide(s).Status.Conditions {
		g.Expect(c.Message).NotTo(BeEmpty())
		g.Expect(len(c.Message)).To(BeNumerically("<=", 1100), c.Type)
	}
}
