package members

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

func TestWhichMembersAreAsked(t *testing.T) {
	NewWithT(t).Expect(askable([]workloadsv1alpha1.ETCDMember{
		{Name: "e-0", Healthy: true, Leader: true}, {Name: "e-1", Healthy: true}, {Name: "e-2"}, {Name: "e-3", Healthy: true, Learner: true}, {Name: "e-4", Healthy: true},
	})).To(Equal([]string{"e-1", "e-4", "e-0"}), "healthy ones that vote, the leader last")
}

func TestWhatIsSaidWhereNoMemberIsAsked(t *testing.T) {
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(corev1.AddToScheme(scheme)).To(Succeed())
	NewWithT(t).Expect(workloadsv1alpha1.AddToScheme(scheme)).To(Succeed())
	healthy := []workloadsv1alpha1.ETCDMember{{Name: "e-0", Healthy: true}}
	secret := func(data map[string][]byte) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e-tls-client"}, Data: data}
	}
	for sentence, test := range map[string]struct {
		state   workloadsv1alpha1.ETCDInstanceState
		members []workloadsv1alpha1.ETCDMember
		tls     bool
		secret  client.Object
		is      func(error) bool
		says    string
	}{
		"it is new":                                     {"", nil, false, nil, apierrors.IsConflict, "wait until its state is running"},
		"it is being deployed":                          {workloadsv1alpha1.ETCDDeploying, nil, false, nil, apierrors.IsConflict, "wait until its state is running"},
		"it has failed":                                 {workloadsv1alpha1.ETCDFailed, nil, false, nil, apierrors.IsServiceUnavailable, "`kubectl describe etcd e -n shop` says why"},
		"the Secret of its clients is missing":          {workloadsv1alpha1.ETCDRunning, healthy, true, nil, apierrors.IsServiceUnavailable, `"e-tls-client" not found`},
		"the Secret of its clients has no pair":         {workloadsv1alpha1.ETCDRunning, healthy, true, secret(nil), apierrors.IsServiceUnavailable, "Secret shop/e-tls-client has no certificate"},
		"its members do not answer, by a sentence each": {workloadsv1alpha1.ETCDRunning, healthy, false, nil, apierrors.IsServiceUnavailable, "no member of ETCDInstance shop/e can send a snapshot now: e-0: "},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			instance := &workloadsv1alpha1.ETCDInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e"}}
			instance.Spec.WithTLSBundle, instance.Status.State, instance.Status.Members = test.tls, test.state, test.members
			objects := []client.Object{instance}
			if test.secret != nil {
				objects = append(objects, test.secret)
			}
			m := &Members{
				Reader:  fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(instance).Build(),
				Address: func(*workloadsv1alpha1.ETCDInstance, string) string { return "http://127.0.0.1:1" },
			}
			_, err := m.Open(t.Context(), types.NamespacedName{Namespace: "shop", Name: "e"})
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
			g.Expect(test.is(err)).To(BeTrue(), "%v", err)
		})
	}
}
