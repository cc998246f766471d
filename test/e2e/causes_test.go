//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// explainedWithin is until when an outage is explained at the latest: a Pod has half a minute to become
// ready, and who looks again after a minute may have looked a moment before.
const explainedWithin = 3 * time.Minute

// ailment is what is wrong with an application, and how its outage is explained.
type ailment struct {
	deployment func(*appsv1.Deployment)
	service    func(*corev1.Service)
	reason     string
	words      []string
}

// container edits the one container of a Deployment.
func container(edit func(*corev1.Container)) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { edit(&d.Spec.Template.Spec.Containers[0]) }
}

// args has the demo's server begin with other arguments, and kubelet keep what it says at its end.
func args(args ...string) func(*appsv1.Deployment) {
	return container(func(c *corev1.Container) {
		c.Args = args
		c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	})
}

var ailments = map[string]ailment{
	"misspelt": {
		deployment: func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchLabels = labels{"app": "mispelt"}
			d.Spec.Template.Labels = labels{"app": "mispelt"}
		},
		reason: criticalv2.CauseNoMatchingPods,
		words:  []string{"app=misspelt", `Pods of Deployment "misspelt" carry app=mispelt`},
	},
	"no-image": {
		deployment: container(func(c *corev1.Container) { c.Image = "quay.io/critical-service/demo:none-such" }),
		reason:     criticalv2.CauseImagePull,
		words:      []string{`Container "web"`, "quay.io/critical-service/demo:none-such"},
	},
	"crash": {
		deployment: args("web", "--crash-after=0s"),
		reason:     criticalv2.CauseCrashLoop,
		words:      []string{`Container "web"`, "exit code 1", "crashed, as --crash-after asks for"},
	},
	"memory": {
		// Without a garbage collector, a prober fills its memory within seconds.
		deployment: func(d *appsv1.Deployment) {
			args("probe", "http://127.0.0.1:1/", "--rate=1000")(d)
			c := &d.Spec.Template.Spec.Containers[0]
			c.Env = []corev1.EnvVar{{Name: "GOGC", Value: "off"}}
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")}
		},
		reason: criticalv2.CauseOutOfMemory,
		words:  []string{`Container "web"`, "limit of 16Mi"},
	},
	"not-ready": {
		deployment: args("web", "--never-ready"),
		reason:     criticalv2.CauseProbeFailing,
		words:      []string{`Container "web"`, "readiness probe (HTTP GET /readyz on port 8080)", "503"},
	},
	"no-node": {
		deployment: func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = labels{"example.com/none": "such"} },
		reason:     criticalv2.CauseUnschedulable,
		words:      []string{"cannot be scheduled", "node affinity/selector"},
	},
	"no-settings": {
		deployment: container(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none-such"}}}}
		}),
		reason: criticalv2.CauseContainerConfig,
		words:  []string{`Container "web"`, `configmap "none-such" not found`},
	},
	"no-volume": {
		deployment: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none-such"}},
			}}}
			container(func(c *corev1.Container) {
				c.VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/settings"}}
			})(d)
		},
		reason: criticalv2.CauseContainerConfig,
		words:  []string{`configmap "none-such" not found`},
	},
	"no-command": {
		deployment: container(func(c *corev1.Container) { c.Command = []string{"/none-such"} }),
		reason:     criticalv2.CauseContainerConfig,
		words:      []string{"cannot be started", "/none-such"},
	},
	"no-port": {
		service: func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("none-such") },
		reason:  criticalv2.CauseTargetPortMissing,
		words:   []string{`targetPort "none-such"`},
	},
	"gate": {
		deployment: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/registered"}}
		},
		reason: criticalv2.CauseReadinessGate,
		words:  []string{`"example.com/registered" is not set`},
	},
	"waiting": {
		deployment: func(d *appsv1.Deployment) {
			wait := *d.Spec.Template.Spec.Containers[0].DeepCopy()
			wait.Name, wait.ReadinessProbe = "wait-for-database", nil
			d.Spec.Template.Spec.InitContainers = []corev1.Container{wait}
		},
		reason: criticalv2.CausePodsStarting,
		words:  []string{`Init container "wait-for-database"`, "has not ended yet"},
	},
}

// ailing makes a critical Service and the Deployment behind it, with what is wrong with them.
func (w *world) ailing(name string, a ailment) *service {
	w.t.Helper()
	shop := w.service(name, func(s *corev1.Service) {
		if a.service != nil {
			a.service(s)
		}
	}).withPage()
	d := w.newDeployment(name)
	if a.deployment != nil {
		a.deployment(d)
	}
	w.create(d)
	return shop
}

func (w *world) newDeployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels{"app": name}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": name}}, Spec: webPod(name)},
		},
	}
}

// isExplained waits until the status explains the outage.
func (s *service) isExplained(reason string, words ...string) {
	s.t.Helper()
	match := []gomegatypes.GomegaMatcher{HaveField("Reason", reason)}
	for _, word := range words {
		match = append(match, HaveField("Message", ContainSubstring(word)))
	}
	s.Eventually(func() *criticalv2.OutageCause { return s.detail(s.policy)().Cause }, explainedWithin).
		Should(HaveValue(And(match...)), "why Service %s is down", s.object.Name)
}

func TestEachOutageIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	down := map[string]*service{}
	for name, a := range ailments {
		down[name] = w.ailing(name, a)
	}
	for name, a := range ailments {
		shop := down[name]
		shop.isExplained(a.reason, a.words...)
		if a.reason == criticalv2.CausePodsStarting {
			w.Expect(w.warnings("Service", name, a.reason)(w)).To(BeEmpty(), "what only starts is no warning")
			continue
		}
		w.Eventually(w.warnings("Service", name, a.reason)).Should(HaveLen(1),
			"one event tells why Service %s is down", name)
	}
}

func TestAnApplicationThatIsScaledToZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.deployment("shop")
	shop := w.service("shop").withPage().ready()
	w.Expect(shop.detail(shop.policy)().Cause).To(BeNil())

	w.scale(app, 0)
	shop.isExplained(criticalv2.CauseScaledToZero, `Deployment "shop" is scaled to zero through its scale subresource`)
	w.Eventually(w.warnings("Service", "shop", criticalv2.CauseScaledToZero)).Should(HaveLen(1))
	w.Eventually(func() []criticalv2.Outage {
		var policy criticalv2.CriticalService
		w.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(shop.policy), &policy)).To(Succeed())
		return policy.Status.Outages
	}).Should(ContainElement(HaveField("Cause", HaveValue(HaveField("Reason", criticalv2.CauseScaledToZero)))))

	w.scale(app, 1)
	shop.standsBy("shop")
	w.Expect(shop.detail(shop.policy)().Cause).To(BeNil(), "there is nothing to explain any more")
}

func TestPodsThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	const enforce = "pod-security.kubernetes.io/enforce"

	full := newWorld(t)
	full.quota(0)
	shop := full.ailing("shop", ailment{})
	statefulSet := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: full.namespace, Name: "cart"},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels{"app": "cart"}}, ServiceName: "cart",
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": "cart"}}, Spec: webPod("cart")},
		},
	}
	full.create(statefulSet)
	cart := full.service("cart").withPage()

	strict := newWorld(t, labels{enforce: "restricted"})
	lax := strict.ailing("shop", ailment{deployment: container(func(c *corev1.Container) { c.SecurityContext = nil })})

	shop.isExplained(criticalv2.CausePodsRefused, `Deployment "shop"`, "exceeded quota: few-pods")
	cart.isExplained(criticalv2.CausePodsRefused, `StatefulSet "cart"`, "exceeded quota: few-pods")
	lax.isExplained(criticalv2.CausePodsRefused, `Deployment "shop"`, "violates PodSecurity", "allowPrivilegeEscalation")
}
