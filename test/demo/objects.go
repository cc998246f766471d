package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
)

const (
	fieldManager     = "critical-service-demo"
	defaultDemoImage = "quay.io/critical-service/demo:dev"
	proberName       = "prober"

	shopManifest            = "shop.yaml"
	criticalServiceManifest = "critical-service.yaml"
	proberManifest          = "prober.yaml"
)

//go:embed manifests
var manifests embed.FS

// objects reads one of the demo's manifests, with the image that was asked for.
func (d *demo) objects(file string) ([]*unstructured.Unstructured, error) {
	content, err := manifests.ReadFile("manifests/" + file)
	if err != nil {
		return nil, err
	}
	return cluster.Decode(bytes.ReplaceAll(content, []byte(defaultDemoImage), []byte(d.demoImage)))
}

func (d *demo) apply(ctx context.Context, file string) error {
	objects, err := d.objects(file)
	if err != nil {
		return err
	}
	return d.cluster.Apply(ctx, fieldManager, objects...)
}

// useImageOfTheShop lets the prober run the image that the demo has deployed, whatever its name.
func (d *demo) useImageOfTheShop(ctx context.Context) error {
	var deployment appsv1.Deployment
	if err := d.cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shop}, &deployment); err != nil {
		return fmt.Errorf("%w; run the demo itself first", err)
	}
	d.demoImage = deployment.Spec.Template.Spec.Containers[0].Image
	return nil
}

// scale sets the number of Pods of a Deployment, and shows how anybody would do it.
func (d *demo) scale(ctx context.Context, watching *watcher, namespace, name string, replicas int32) error {
	watching.say("kubectl scale -n %s deployment/%s --replicas=%d", namespace, name, replicas)
	return d.setReplicas(ctx, namespace, name, replicas)
}

func (d *demo) setReplicas(ctx context.Context, namespace, name string, replicas int32) error {
	return d.cluster.Scale(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, replicas)
}

// standby describes what the operator has published ahead of time, in one line.
func (d *demo) standby(ctx context.Context) (string, error) {
	var published discoveryv1.EndpointSliceList
	if err := d.cluster.List(ctx, &published, client.InNamespace(namespace), client.MatchingLabels{
		discoveryv1.LabelServiceName: shop, discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
	}); err != nil {
		return "", err
	}
	withPods := slices.DeleteFunc(published.Items, func(slice discoveryv1.EndpointSlice) bool {
		return len(slice.Endpoints) == 0 || len(slice.Ports) == 0
	})
	if len(withPods) == 0 {
		return "", fmt.Errorf("no standby slice with endpoints for Service %s/%s", namespace, shop)
	}
	return describeStandby(withPods), nil
}

func describeStandby(published []discoveryv1.EndpointSlice) string {
	var addresses []string
	for _, slice := range published {
		for _, endpoint := range slice.Endpoints {
			for _, address := range endpoint.Addresses {
				addresses = append(addresses, net.JoinHostPort(address, strconv.Itoa(int(*slice.Ports[0].Port))))
			}
		}
	}
	conditions := published[0].Endpoints[0].Conditions
	return fmt.Sprintf("%d EndpointSlices, one for each Pod: %s (ready: %t, serving: %t, terminating: %t)", len(published), strings.Join(addresses, ", "),
		ptr.Deref(conditions.Ready, true), ptr.Deref(conditions.Serving, true), ptr.Deref(conditions.Terminating, false))
}

// probe starts the prober's Pod and hands what it sees to watching, until stop is called.
func (d *demo) probe(ctx context.Context, watching *watcher) (stop func(), err error) {
	if err := d.removeProber(ctx); err != nil {
		return nil, err
	}
	pod, err := d.proberPod(ctx)
	if err != nil {
		return nil, err
	}
	streaming, cancel := context.WithCancel(ctx)
	stop = func() {
		cancel()
		// The run may end because ctx did: the prober is removed all the same.
		cleanup, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		if err := d.deleteProber(cleanup); err != nil {
			d.printf("  Pod %s/%s is still there: %v\n", namespace, proberName, err)
		}
	}
	if err := d.cluster.Apply(ctx, fieldManager, pod); err != nil {
		stop()
		return nil, err
	}
	if err := d.wait(ctx, "a prober runs inside the cluster", startLimit, d.proberRuns); err != nil {
		stop()
		return nil, err
	}
	lines, err := d.cluster.Clientset.CoreV1().Pods(namespace).
		GetLogs(proberName, &corev1.PodLogOptions{Follow: true}).Stream(streaming)
	if err != nil {
		stop()
		return nil, fmt.Errorf("cannot read the prober's output: %w", err)
	}
	go func() {
		defer func() { _ = lines.Close() }()
		watching.end(prober.ReadLines(lines, watching.add))
	}()
	return stop, nil
}

// proberPod is the prober with the URL of the shop, and the words by which the page is known. It is given the address and not the name, so
// that only the Service is measured and not the DNS.
func (d *demo) proberPod(ctx context.Context) (*unstructured.Unstructured, error) {
	var service corev1.Service
	if err := d.cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shop}, &service); err != nil {
		return nil, err
	}
	objects, err := d.objects(proberManifest)
	if err != nil {
		return nil, err
	}
	pod := objects[0]
	containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
	if err != nil {
		return nil, err
	}
	container, _ := containers[0].(map[string]any)
	args, _ := container["args"].([]any)
	container["args"] = append(args, "--mark="+pageSentence+"="+page, "http://"+net.JoinHostPort(service.Spec.ClusterIP, "80")+"/")
	return pod, unstructured.SetNestedSlice(pod.Object, containers, "spec", "containers")
}

func (d *demo) proberRuns(ctx context.Context) (bool, string, error) {
	var pod corev1.Pod
	if err := d.cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: proberName}, &pod); err != nil {
		return false, "", err
	}
	return pod.Status.Phase != corev1.PodPending, cluster.PodTrouble(&pod), nil
}

// removeProber takes away what an interrupted run may have left.
func (d *demo) removeProber(ctx context.Context) error {
	if err := d.deleteProber(ctx); err != nil {
		return err
	}
	return d.until(ctx, "the prober of an earlier run is gone", func(ctx context.Context) (bool, string, error) {
		err := d.cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: proberName}, &corev1.Pod{})
		return apierrors.IsNotFound(err), "", client.IgnoreNotFound(err)
	})
}

func (d *demo) deleteProber(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: proberName}}
	return client.IgnoreNotFound(d.cluster.Delete(ctx, pod))
}

// cleanUp removes the shop; the operator stays.
func (d *demo) cleanUp(ctx context.Context) error {
	d.title("Clean up")
	err := errors.Join(
		client.IgnoreNotFound(d.cluster.Delete(ctx, &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: shop}})),
		client.IgnoreNotFound(d.cluster.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})),
	)
	if err != nil {
		return err
	}
	return d.wait(ctx, "the shop is removed", startLimit, func(ctx context.Context) (bool, string, error) {
		err := d.cluster.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), "", client.IgnoreNotFound(err)
	})
}
