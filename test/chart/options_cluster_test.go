package chart_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestTheAPIServerAcceptsEveryOptionAndTheWayBack(t *testing.T) {
	w := newWorld(t)
	w.helm("install", release, chart, "--set", "hostNetwork=true", "--set", "settings.WEBHOOK_PORT=10260",
		"--set", "podDisruptionBudget.minAvailable=50%", "--set-json", `extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"}]`,
		"--set-json", `serviceAccount.annotations={"eks.amazonaws.com/role-arn":"arn:aws:iam::1:role/a"}`)
	budget, account := &policyv1.PodDisruptionBudget{ObjectMeta: w.deployment.ObjectMeta}, &corev1.ServiceAccount{ObjectMeta: w.deployment.ObjectMeta}
	w.read(w.deployment, budget, account)
	w.Expect(budget.Spec.MinAvailable).To(HaveValue(Equal(intstr.FromString("50%"))))
	w.Expect(budget.Spec.MaxUnavailable).To(BeNil())
	w.Expect(account.Annotations).To(HaveKeyWithValue("eks.amazonaws.com/role-arn", "arn:aws:iam::1:role/a"))
	w.Expect(w.deployment.Spec.Strategy.RollingUpdate.MaxSurge).To(HaveValue(Equal(intstr.FromInt32(0))))
	pod := w.deployment.Spec.Template.Spec
	w.Expect(pod.HostNetwork).To(BeTrue())
	w.Expect(pod.DNSPolicy).To(Equal(corev1.DNSClusterFirstWithHostNet))
	w.Expect(pod.Containers[0].Ports).To(ContainElement(And(HaveField("Name", "webhook"), HaveField("ContainerPort", int32(10260)))))
	w.Expect(pod.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy:3128"}))

	w.helm("upgrade", release, chart, "--reset-values")
	usual := &appsv1.Deployment{ObjectMeta: w.deployment.ObjectMeta}
	w.read(usual, budget)
	w.Expect(usual.Spec.Template.Spec.HostNetwork).To(BeFalse())
	w.Expect(usual.Spec.Template.Spec.Containers[0].Ports).To(HaveEach(HaveField("HostPort", int32(0))))
	w.Expect(usual.Spec.Strategy.RollingUpdate.MaxSurge).To(HaveValue(Equal(intstr.FromString("25%"))))
	w.Expect(budget.Spec.MinAvailable).To(BeNil())
	w.Expect(budget.Spec.MaxUnavailable).To(HaveValue(Equal(intstr.FromInt32(1))))

	for level, accepted := range map[string][]bool{"restricted": {true, false}, "baseline": {true, false}, "privileged": {true, true}} {
		for i, deployment := range []*appsv1.Deployment{usual, w.deployment} {
			err := w.admits(level, deployment.Spec.Template)
			w.Expect(err == nil).To(Equal(accepted[i]), "%s, in the node's network: %t: %v", level, i == 1, err)
		}
	}
}

// admits is why a namespace with a level of Pod Security does not admit a Pod; nil is that it does.
func (w *world) admits(level string, template corev1.PodTemplateSpec) error {
	w.t.Helper()
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "admits-" + level, Labels: map[string]string{"pod-security.kubernetes.io/enforce": level}}}
	if err := admin.Create(w.t.Context(), home); !apierrors.IsAlreadyExists(err) {
		w.Expect(err).NotTo(HaveOccurred())
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: home.Name, Name: "a"}, Spec: template.Spec}
	return admin.Create(w.t.Context(), pod, client.DryRunAll)
}
