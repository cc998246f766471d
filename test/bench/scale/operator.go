package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/cluster"
)

// subject is the operator that is measured.
type subject interface {
	// configure starts it again for a world: without self-tests where addresses lead nowhere.
	configure(ctx context.Context, world string, selfTest bool) error
	stop(ctx context.Context) error
	start(ctx context.Context) error
	// process is the PID on this machine.
	process(ctx context.Context) (int, error)
	// metrics are those that it serves.
	metrics(ctx context.Context) ([]byte, error)
	// restarts is how often it has ended unasked, as it does at its memory limit.
	restarts(ctx context.Context) (int, error)
}

const (
	operatorNamespace = "critical-service-system"
	operatorName      = "critical-service-operator"
	fieldManager      = "bench-scale"
	startLimit        = 3 * time.Minute
)

// deployment is the operator that is installed in the cluster. One replica of it is measured: the one that acts.
type deployment struct {
	cluster *cluster.Cluster
	token   string
	// replicas is how many it had before.
	replicas int32
	made     []client.Object
}

// newDeployment gets the right to read the metrics.
func newDeployment(ctx context.Context, connection *cluster.Cluster) (*deployment, error) {
	d := &deployment{cluster: connection}
	var installed appsv1.Deployment
	if err := connection.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &installed); err != nil {
		return nil, err
	}
	d.replicas = *installed.Spec.Replicas
	var err error
	if d.token, d.made, err = connection.MetricsToken(ctx, operatorNamespace, newID(), 2*time.Hour); err != nil {
		return nil, errors.Join(err, d.restore(ctx))
	}
	return d, nil
}

// owned is what the bench owns of the Deployment. With the real nodes cordoned for responders, the
// operator still runs on one of them.
const owned = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: %s}
spec:
  template:
    metadata:
      annotations: {bench-scale/world: %q}
    spec:
      tolerations:
      - {key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - {key: %s, operator: DoesNotExist}
      containers:
      - name: manager
        env: [%s]
`

func (d *deployment) configure(ctx context.Context, world string, selfTest bool) error {
	variable := ""
	if !selfTest {
		variable = `{name: SELF_TEST_INTERVAL, value: "0s"}`
	}
	if err := d.apply(ctx, fmt.Sprintf(owned, operatorName, operatorNamespace, newID()+" "+world, fakeNodeLabel, variable)); err != nil {
		return err
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	return d.running(ctx)
}

// restore takes back all that configure has set.
func (d *deployment) restore(ctx context.Context) error {
	nothing := fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: %s}}", operatorName, operatorNamespace)
	problems := []error{d.apply(ctx, nothing)}
	for _, object := range d.made {
		problems = append(problems, client.IgnoreNotFound(d.cluster.Delete(ctx, object)))
	}
	return errors.Join(append(problems, d.scale(ctx, d.replicas))...)
}

func (d *deployment) apply(ctx context.Context, manifest string) error {
	objects, err := cluster.Decode([]byte(manifest))
	if err != nil {
		return err
	}
	return d.cluster.Apply(ctx, fieldManager, objects...)
}

func (d *deployment) scale(ctx context.Context, replicas int32) error {
	return d.cluster.Scale(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorName}}, replicas)
}

func (d *deployment) stop(ctx context.Context) error {
	if err := d.scale(ctx, 0); err != nil {
		return err
	}
	return d.pods(ctx, 0)
}

func (d *deployment) start(ctx context.Context) error { return d.scale(ctx, 1) }

// running waits until the Deployment is up to date, and the Pods before it are gone.
func (d *deployment) running(ctx context.Context) error {
	if err := d.cluster.AwaitDeployment(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, startLimit); err != nil {
		return err
	}
	return d.pods(ctx, 1)
}

func (d *deployment) pods(ctx context.Context, wanted int) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, startLimit, true, func(ctx context.Context) (bool, error) {
		list, err := d.list(ctx)
		return len(list) == wanted, err
	})
}

func (d *deployment) list(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := d.cluster.List(ctx, &pods, client.InNamespace(operatorNamespace),
		client.MatchingLabels{"app.kubernetes.io/name": operatorName, "app.kubernetes.io/component": "manager"})
	return pods.Items, err
}

// pod is the only one.
func (d *deployment) pod(ctx context.Context) (*corev1.Pod, error) {
	pods, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 || len(pods[0].Status.ContainerStatuses) == 0 {
		return nil, fmt.Errorf("the operator has %d Pods, or they do not run", len(pods))
	}
	return &pods[0], nil
}

func (d *deployment) restarts(ctx context.Context) (int, error) {
	pod, err := d.pod(ctx)
	if err != nil {
		return 0, err
	}
	return int(pod.Status.ContainerStatuses[0].RestartCount), nil
}

// process finds the process by the name of its cgroup, which holds the container's ID.
func (d *deployment) process(ctx context.Context) (int, error) {
	pod, err := d.pod(ctx)
	if err != nil {
		return 0, err
	}
	_, id, found := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	if !found {
		return 0, errors.New("the operator's container does not run")
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return 0, err
	}
	for _, file := range groups {
		// A process may end meanwhile.
		if group, err := os.ReadFile(file); err == nil && bytes.Contains(group, []byte(id)) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("no process of container %s: this program must run on the operator's node", id)
}

func (d *deployment) metrics(ctx context.Context) ([]byte, error) {
	pod, err := d.pod(ctx)
	if err != nil {
		return nil, err
	}
	return measure.Scrape(ctx, "https://"+net.JoinHostPort(pod.Status.PodIP, "8443")+"/metrics", d.token)
}
