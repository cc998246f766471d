//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/test/cluster"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// engineUser is the user of the engines in their images.
const engineUser = 999

func TestWhatIsWrittenOutlivesThePod(t *testing.T) {
	for _, kind := range engines {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := w.database("shop", kind, w.stored()).runs()
			d.write("first")
			client := d.talk()
			client.isAnswered()

			pod := d.pod()
			began := time.Now()
			w.Expect(w.Delete(w.ctx, pod)).To(Succeed())
			next := d.replaced(pod)
			client.isAnswered()
			t.Logf("%s: the client is answered again %s after its Pod was deleted", kind, time.Since(began).Round(100*time.Millisecond))
			d.holds("first")

			// And so it is with processes that have no chance to say goodbye.
			d.write("second")
			restarts := next.Status.ContainerStatuses[0].RestartCount
			began = time.Now()
			w.Expect(cluster.Signal(next, syscall.SIGKILL)).To(Succeed())
			w.Eventually(func(g Gomega) {
				now := d.pod()
				g.Expect(now.UID).To(Equal(next.UID), "the node starts it again")
				g.Expect(now.Status.ContainerStatuses[0].RestartCount).To(BeNumerically(">", restarts))
				g.Expect(cluster.PodReady(now)).To(BeTrue())
			}).Should(Succeed())
			client.isAnswered()
			t.Logf("%s: the client is answered again %s after its processes were killed", kind, time.Since(began).Round(100*time.Millisecond))
			d.holds("first", "second")
			d.runs()

			// Neither the claim nor its key goes with the Database: the next of that name has the data.
			w.remove(d.object)
			w.gone(next)
			w.refresh(d.claim())
			again := w.database("shop", kind, func(o *workloadsv1.Database) { o.Spec.Storage = d.object.Spec.Storage })
			again.runs().holds("first", "second")
		})
	}
}

func (d *database) claim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: d.named(d.object.ClaimName())}
}

// stored gives a Database storage, for which it makes a volume of a class that only this scenario has.
func (w *world) stored() func(*workloadsv1.Database) {
	w.t.Helper()
	w.volume(func(volume *corev1.PersistentVolume) { volume.Spec.StorageClassName = w.namespace })
	return func(d *workloadsv1.Database) {
		d.Spec.Storage = &workloadsv1.DatabaseStorage{Size: "1Gi", StorageClassName: new(w.namespace)}
	}
}

// volumeFor makes the volume of a claim that names no class, and is there for no other claim.
func (w *world) volumeFor(claim string) {
	w.t.Helper()
	w.volume(func(volume *corev1.PersistentVolume) {
		volume.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: w.namespace, Name: claim}
	})
}

// volume makes a volume: a folder of this test on this machine, the cluster's node.
func (w *world) volume(edit func(*corev1.PersistentVolume)) {
	w.t.Helper()
	folder := filepath.Join(w.t.TempDir(), "volume")
	w.Expect(os.Mkdir(folder, 0o700)).To(Succeed())
	w.Expect(os.Chown(folder, engineUser, engineUser)).To(Succeed())
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		},
	}
	edit(volume)
	w.create(volume)
	w.t.Cleanup(func() {
		w.report()
		// The folder must not be removed while something writes to it. A WebApp would make its Database again.
		w.Expect(w.DeleteAllOf(w.ctx, &workloadsv1.WebApp{}, inNamespace(w))).To(Succeed())
		w.Expect(w.DeleteAllOf(w.ctx, &workloadsv1.Database{}, inNamespace(w))).To(Succeed())
		var pods corev1.PodList
		w.Eventually(func(g Gomega) []corev1.Pod {
			g.Expect(w.List(w.ctx, &pods, inNamespace(w), ofDatabases)).To(Succeed())
			return pods.Items
		}).Should(BeEmpty(), "Pods with a volume")
	})
}

func TestTwoDatabasesInOneNamespaceDoNotMix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pair := []*database{w.database("orders", workloadsv1.DatabaseMongo), w.database("stock", workloadsv1.DatabaseMongo)}
	for _, d := range pair {
		// Both have the label by which the Services of the document select.
		d.runs()
		w.Expect(d.pod().Labels).To(HaveKeyWithValue("app", "db"))
	}
	for _, d := range pair {
		for i := range 3 {
			d.write(fmt.Sprintf("%s-%d", d.object.Name, i))
		}
	}
	for _, d := range pair {
		name := d.object.Name
		d.holds(name+"-0", name+"-1", name+"-2")
		w.Expect(d.endpoints()).To(ConsistOf(name))
	}

	// Nor does the password of one open the other.
	stranger := *pair[1].uri()
	stranger.User = pair[0].uri().User
	w.Eventually(func() string {
		output, err := pair[1].run(&stranger, dialects[workloadsv1.DatabaseMongo].read)
		w.Expect(err).To(HaveOccurred(), output)
		return output
	}).Should(ContainSubstring("uthentication failed"))

	// When one goes, the other stays.
	kept := pair[1].pod()
	w.remove(pair[0].object)
	w.gone(&corev1.Pod{ObjectMeta: w.named("orders")})
	pair[1].keeps(kept)
	pair[1].holds("stock-0", "stock-1", "stock-2")
}
