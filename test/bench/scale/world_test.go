package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/controllers"
	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/settings"
	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"

	"github.com/critical-service/operator/test/bench/fakenode"
)

var shared *testenv.Cluster

func TestMain(m *testing.M) {
	process.Main(runOperator, func() int {
		testenv.Main(m, controllers.Scheme, &shared, func(context.Context) error { return nil })
		return 0
	})
}

func runOperator(ctx context.Context) error {
	s, err := settings.Bind(pflag.NewFlagSet("manager", pflag.ContinueOnError), os.LookupEnv)()
	if err != nil {
		return err
	}
	return operator.Run(ctx, s)
}

// program is the operator as a process of this machine.
type program struct {
	t                   *testing.T
	kubeconfig, address string
	running             *process.Process
}

func newProgram(t *testing.T) *program {
	p := &program{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), address: ports.Free(t)}
	NewWithT(t).Expect(os.WriteFile(p.kubeconfig, shared.OperatorKubeconfig, 0o600)).To(Succeed())
	return p
}

func (p *program) configure(ctx context.Context, _ string, _ bool) error {
	if err := errors.Join(p.stop(ctx), p.start(ctx)); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, interval, startLimit, true, func(ctx context.Context) (bool, error) {
		_, err := p.metrics(ctx)
		return err == nil, nil
	})
}

func (p *program) start(context.Context) error {
	p.running = process.Start(p.t, p.kubeconfig, testenv.OperatorNamespace, "METRICS_SECURE=false", "METRICS_BIND_ADDRESS="+p.address,
		"WEBHOOK_URL=", "WEBHOOK_CERT_DIR="+shared.CertDir(), "SELF_TEST_INTERVAL=0s", "RESPONDER_IMAGE=example.com/responder:1")
	return nil
}

func (p *program) stop(context.Context) error {
	if p.running == nil {
		return nil
	}
	return p.running.End()
}

func (p *program) process(context.Context) (int, error)  { return p.running.PID, nil }
func (p *program) restarts(context.Context) (int, error) { return 0, nil }

func (p *program) metrics(ctx context.Context) ([]byte, error) {
	return measure.Scrape(ctx, "http://"+p.address+"/metrics", "")
}

// controllerManager does what the bench needs of a controller manager: Pods of Deployments, on the fake node,
// and the end of namespaces.
func controllerManager(t *testing.T) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			reconcileDeployments(ctx)
			endNamespaces(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(interval):
			}
		}
	}()
}

func endNamespaces(ctx context.Context) {
	var namespaces corev1.NamespaceList
	_ = shared.Client.List(ctx, &namespaces) // All of this is repeated.
	for _, namespace := range namespaces.Items {
		if namespace.DeletionTimestamp != nil {
			namespace.Spec.Finalizers = nil
			_ = shared.Client.SubResource("finalize").Update(ctx, &namespace)
		}
	}
}

func reconcileDeployments(ctx context.Context) {
	var deployments appsv1.DeploymentList
	var nodes corev1.NodeList
	_ = shared.Client.List(ctx, &deployments)
	if _ = shared.Client.List(ctx, &nodes, client.HasLabels{fakeNodeLabel}); len(nodes.Items) == 0 {
		return
	}
	for _, deployment := range deployments.Items {
		reconcileDeployment(ctx, &deployment, nodes.Items[0].Name)
	}
}

// reconcileDeployment makes the Pods of the newest template, and deletes older ones when they are ready.
func reconcileDeployment(ctx context.Context, deployment *appsv1.Deployment, node string) {
	const generation = "generation"
	newest := fmt.Sprint(deployment.Generation)
	var pods corev1.PodList
	_ = shared.Client.List(ctx, &pods, client.InNamespace(deployment.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels))
	current, ready := 0, 0
	for _, pod := range pods.Items {
		if pod.Labels[generation] == newest {
			current++
			if fakenode.HasCondition(&pod, corev1.PodReady) {
				ready++
			}
		}
	}
	for ; current < int(*deployment.Spec.Replicas); current++ {
		pod := &corev1.Pod{ObjectMeta: *deployment.Spec.Template.ObjectMeta.DeepCopy(), Spec: *deployment.Spec.Template.Spec.DeepCopy()}
		pod.Namespace, pod.Name, pod.Spec.NodeName = deployment.Namespace, deployment.Name+"-"+rand.String(5), node
		metav1.SetMetaDataLabel(&pod.ObjectMeta, generation, newest)
		_ = shared.Client.Create(ctx, pod)
	}
	if ready < int(*deployment.Spec.Replicas) {
		return
	}
	for _, pod := range pods.Items {
		if pod.Labels[generation] != newest && pod.DeletionTimestamp == nil {
			_ = shared.Client.Delete(ctx, &pod)
		}
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: int32(ready), UpdatedReplicas: int32(ready),
		ReadyReplicas: int32(ready), AvailableReplicas: int32(ready),
	}
	_ = shared.Client.Status().Update(ctx, deployment)
}

func TestAWorldGoesThroughEveryPhase(t *testing.T) {
	g := NewWithT(t)
	controllerManager(t)
	b, err := newBench(shared.Admin, shared.Client.Scheme(), newProgram(t), phaseNames())
	g.Expect(err).NotTo(HaveOccurred())
	b.calm, b.churnTime = time.Second, time.Second

	small := world{namespaces: 2, services: 10, fake: true}
	r, err := b.measure(t.Context(), small)
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, m := range r.phases {
		names = append(names, m.name)
		t.Log(m)
	}
	g.Expect(names).To(Equal(phaseNames()))
	for _, name := range []string{phaseFail, phaseRecover} {
		m := r.phases[slices.Index(names, name)]
		g.Expect(m.first).To(HaveLen(small.total()))
		g.Expect(m.last).To(HaveLen(small.total()))
		g.Expect(m.turned).To(BeNumerically(">=", small.total()))
		g.Expect(m.events).To(Equal(small.total()))
		g.Expect(m.cost.sliceWrites).To(BeNumerically(">=", m.turned))
		g.Expect(m.cost.methods["PATCH"]).To(BeNumerically(">=", m.cost.sliceWrites))
		g.Expect(m.cost.rss).To(BeNumerically(">", 1<<20))
	}
	g.Expect(r.phases[slices.Index(names, phaseRestart)].turned).To(BeNumerically(">=", restartSample))
	t.Log(markdown("v1", []result{r}, judge([]result{r})))
	g.Expect(draw(r)).To(ContainSubstring("</svg>"))

	var nodes corev1.NodeList
	g.Expect(shared.Client.List(t.Context(), &nodes)).To(Succeed())
	g.Expect(nodes.Items).To(BeEmpty())
}
