package drill

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
)

// operatorWith is the operator's Deployment with some replicas that are available.
func operatorWith(namespace string, available int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: installation.Name, Labels: installation.Labels},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: installation.Labels}, Spec: corev1.PodSpec{ServiceAccountName: "of-" + namespace},
		}},
		Status: appsv1.DeploymentStatus{AvailableReplicas: available},
	}
}

func leaseOf(holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: installation.UsualNamespace, Name: installation.Name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new(holder), RenewTime: new(metav1.NewMicroTime(start))},
	}
}

func TestALiveDrillNeedsAnOperatorThatGivesBack(t *testing.T) {
	const home = installation.UsualNamespace
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "one", nil)
	for sentence, test := range map[string]struct {
		objects []client.Object
		// renewed reports whether the holder renews the lease each second.
		renewed bool
		// deployments and leases are how reading them is refused.
		deployments, leases error
		refused, said       string
	}{
		"one that runs and leads": {objects: []client.Object{operatorWith(home, 1), leaseOf("one")}, renewed: true},
		"one that was never installed": {
			objects: []client.Object{operatorWith("aaa-attacker", 1), leaseOf("one")}, renewed: true, refused: "the operator was not found in namespace " + home,
		},
		"one that may not be looked for": {
			objects: []client.Object{operatorWith(home, 1), leaseOf("one")}, renewed: true, deployments: forbidden, refused: "needs the right to list the Deployments",
		},
		"one that is stopped": {objects: []client.Object{operatorWith(home, 0), leaseOf("one")}, renewed: true, refused: "has no available replica"},
		"one whose leader has died": {
			objects: []client.Object{operatorWith(home, 1), leaseOf("one")}, refused: "Lease " + installation.Name + " in namespace " + home + " was not renewed",
		},
		"one whose leader has left": {objects: []client.Object{operatorWith(home, 1), leaseOf("")}, renewed: true, refused: "no replica of the operator leads"},
		"a lease that may not be read does not block it": {
			objects: []client.Object{operatorWith(home, 1), leaseOf("")}, leases: forbidden, said: "You may not read Lease " + installation.Name,
		},
		"an operator that elects no leader": {objects: []client.Object{operatorWith(home, 1)}, said: "The operator has no Lease"},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				s, said := drillWith(t, "", test.objects...)
				s.Client = interceptor.NewClient(s.Client.(client.WithWatch), interceptor.Funcs{
					List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
						if _, is := into.(*appsv1.DeploymentList); is && test.deployments != nil {
							return test.deployments
						}
						return c.List(ctx, into, options...)
					},
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
						lease, is := object.(*coordinationv1.Lease)
						if is && test.leases != nil {
							return test.leases
						}
						err := c.Get(ctx, key, object, options...)
						if is && err == nil && test.renewed {
							lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Truncate(time.Second)))
						}
						return err
					},
				})
				restorer, err := s.findRestorer(t.Context())
				if test.refused != "" {
					g.Expect(err).To(MatchError(ContainSubstring(test.refused)))
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(restorer).To(Equal(types.NamespacedName{Namespace: home, Name: "of-" + home}))
				if test.said == "" {
					g.Expect(said.String()).To(BeEmpty())
				} else {
					g.Expect(said.String()).To(ContainSubstring(test.said))
				}
			})
		})
	}
}

// Without an operator the application could stay away for good: there is no drill, and nothing is
// made before that is known.
func TestADrillIsRefusedBeforeAnythingIsMade(t *testing.T) {
	g := NewWithT(t)
	slice := standbySlice("http")
	slice.Namespace, slice.Name = "shop", "front-standby-ipv4"
	s, _ := drillWith(t, "", service(corev1.ServicePort{Name: "http", Port: 80}), &slice, policyWith("a", criticalv2.StateArmed), operatorWith("aaa-attacker", 1))
	s.options.live, s.options.image = true, "operator:v1"
	_, err := s.run(t.Context())
	g.Expect(err).To(MatchError(HavePrefix("refused: the operator was not found")))
	var pods corev1.PodList
	g.Expect(s.List(t.Context(), &pods)).To(Succeed())
	g.Expect(pods.Items).To(BeEmpty())
}

func TestWhatOthersSayIsReportedInOneLine(t *testing.T) {
	g := NewWithT(t)
	s, said := drillWith(t, "")
	s.progress("It says: %s", "a\nb \x1b[2J\u202e")
	g.Expect(said.String()).To(Equal("It says: a b ?[2J?\n"))
	w := &watching{ports: []*port{{name: "http", target: "t"}}}
	w.add(script(".")[0], start)
	w.seen["t"][0].Problem = "said\n\x1b[2J"
	g.Expect(w.lastProblem()).To(Equal(" (port http: it said ?[2J)"))
	waiting := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no\n\x1b[2J"}},
	}}}}
	g.Expect(waitsFor(waiting)).To(Equal("ErrImagePull no ?[2J"))
}
