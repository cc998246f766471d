//go:build e2e && linux

package consumers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/cluster"
)

// What all tests share. Nothing of it is changed after TestMain.
var (
	shared    *cluster.Cluster
	demoImage string
	// node is the node on which the Pods run.
	node corev1.Node
	// mode is how kube-proxy programs the kernel.
	mode string
)

// clusterDNS is the cluster's DNS server.
var clusterDNS = client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)
	SetDefaultConsistentlyPollingInterval(100 * time.Millisecond)
	flag.Parse()
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "consumers: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("kube-proxy %s in %s mode on node %s\n", node.Status.NodeInfo.KubeletVersion, mode, node.Name)
	os.Exit(m.Run())
}

func prepare(ctx context.Context) (err error) {
	demoImage = os.Getenv("DEMO_IMG")
	if os.Getenv("KUBECONFIG") == "" || demoImage == "" {
		return errors.New("KUBECONFIG (the cluster) and DEMO_IMG (the image of test/workload) must be set: run 'make e2e', which sets them")
	}
	if shared, err = cluster.Connect(os.Getenv("KUBECONFIG")); err != nil {
		return err
	}
	var nodes corev1.NodeList
	if err := shared.List(ctx, &nodes); err != nil {
		return err
	}
	if len(nodes.Items) != 1 {
		return fmt.Errorf("the cluster has %d nodes: these tests are about the policies of one, for example on the devcluster", len(nodes.Items))
	}
	node = nodes.Items[0]
	mode, err = ProxyMode(ctx)
	return err
}

// uses makes the class of a proxy, and removes it and stops the proxy when the test ends.
func (w *world) uses(proxy *Proxy) {
	w.t.Helper()
	w.t.Cleanup(func() {
		w.Expect(proxy.Stop()).To(Succeed())
		if w.t.Failed() {
			w.t.Logf("the last words of %s:\n%s", proxy.Name, proxy.Log())
		}
	})
	w.create(proxy.Class())
}

// create creates an object, and deletes it when the test ends.
func (w *world) create(object client.Object) {
	w.t.Helper()
	w.Expect(client.IgnoreAlreadyExists(shared.Create(w.ctx, object))).To(Succeed())
	w.t.Cleanup(func() { w.Expect(client.IgnoreNotFound(shared.Delete(w.ctx, object))).To(Succeed()) })
}
