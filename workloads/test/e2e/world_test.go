//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/quota"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// world is the namespace of one scenario, and everything in it goes when the scenario ends.
type world struct {
	*cluster.Cluster
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
	// report shows the world, if the scenario has failed.
	report func()
}

// newWorld makes a namespace for the scenario, in which Pod Security is as strict as it gets.
func newWorld(t *testing.T) *world {
	t.Helper()
	takePlace(t)
	return newWorldOf(t, "restricted")
}

// places are those of the scenarios that run at once.
var places = make(chan struct{}, scenariosAtOnce)

func takePlace(t *testing.T) {
	t.Helper()
	places <- struct{}{}
	t.Cleanup(func() { <-places })
}

// newWorldOf makes a namespace with a level of Pod Security. A scenario that only waits for minutes begins
// by it, and takes no place.
func newWorldOf(t *testing.T, level string) *world {
	t.Helper()
	name := strings.NewReplacer("/", "-", "_", "-").Replace(strings.ToLower(strings.TrimPrefix(t.Name(), "Test")))
	w := &world{
		Cluster: shared, WithT: NewWithT(t), t: t, ctx: context.WithoutCancel(t.Context()),
		namespace: "e2e-" + name[:min(len(name), 40)] + "-" + utilrand.String(5),
	}
	began := time.Now()
	w.report = sync.OnceFunc(func() {
		if t.Failed() {
			t.Log(w.Report(w.ctx, w.namespace, began))
			t.Log(w.statuses(&workloadsv1.WebAppList{}, &workloadsv1.DatabaseList{}, &workloadsv2.AppConfigList{}, &workloadsv1alpha1.ETCDInstanceList{}))
			t.Log(w.Log(w.ctx, workloads, w.namespace, began))
			t.Log(w.Log(w.ctx, core, w.namespace, began))
		}
	})
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": level, "pod-security.kubernetes.io/enforce-version": "latest",
	}}})
	// Until Kubernetes has made this account, it denies every Pod of the namespace.
	w.refresh(&corev1.ServiceAccount{ObjectMeta: w.named("default")})
	return w
}

// statuses shows what the objects of these kinds say of themselves in the scenario.
func (w *world) statuses(kinds ...client.ObjectList) string {
	text := &strings.Builder{}
	for _, list := range kinds {
		err := w.List(w.ctx, list, client.InNamespace(w.namespace))
		if err == nil {
			err = meta.EachListItem(list, func(object runtime.Object) error {
				fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
				if err != nil {
					return err
				}
				status, err := yaml.Marshal(fields["status"])
				_, _ = fmt.Fprintf(text, "status of %T %v:\n%s", object, fields["metadata"].(map[string]any)["name"], status)
				return err
			})
		}
		if err != nil {
			_, _ = fmt.Fprintf(text, "no %T: %v\n", list, err)
		}
	}
	return text.String()
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// create creates an object, and deletes it when the scenario ends.
func (w *world) create(object client.Object) {
	w.t.Helper()
	w.Expect(w.Create(w.ctx, object)).To(Succeed())
	w.t.Cleanup(func() {
		// Before the first object goes.
		w.report()
		w.remove(object)
	})
}

func (w *world) remove(object client.Object) {
	w.t.Helper()
	w.Expect(client.IgnoreNotFound(w.Delete(w.ctx, object))).To(Succeed())
}

// forbid makes the API server deny new objects of a resource, and returns the quota that does.
func (w *world) forbid(resource corev1.ResourceName) *corev1.ResourceQuota {
	w.t.Helper()
	none := quota.New(w.namespace, "none", resource, 0)
	w.create(none)
	w.Eventually(quota.InForce).WithArguments(w.ctx, w.Client, none).Should(Succeed())
	return none
}

// refresh reads an object once it is there.
func (w *world) refresh(object client.Object) {
	w.t.Helper()
	w.Eventually(func() error { return w.Get(w.ctx, client.ObjectKeyFromObject(object), object) }).Should(Succeed())
}

// hasCondition waits for a condition of an object that is of its spec as it is now, with a message that has these words.
func (w *world) hasCondition(object client.Object, conditions *[]metav1.Condition, kind string, status metav1.ConditionStatus, reason string, words ...string) {
	w.t.Helper()
	match := []gomegatypes.GomegaMatcher{HaveField("Status", status), HaveField("Reason", reason)}
	for _, word := range words {
		match = append(match, HaveField("Message", ContainSubstring(word)))
	}
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		found := meta.FindStatusCondition(*conditions, kind)
		g.Expect(found).To(HaveValue(And(append(match, HaveField("ObservedGeneration", object.GetGeneration()))...)))
	}).Should(Succeed(), "condition %s of %T %s", kind, object, object.GetName())
}

// gone waits until an object is not there any more.
func (w *world) gone(object client.Object) {
	w.t.Helper()
	w.Eventually(func() bool { return w.isGone(object) }).Should(BeTrue(), "%T %s goes", object, object.GetName())
}

func (w *world) isGone(object client.Object) bool { return testenv.Gone(w.ctx, w.Client, object) }

// change edits an object that exists.
func change[T client.Object](w *world, object T, edit func(T)) {
	w.t.Helper()
	w.Expect(tryToChange(w, object, edit)).To(Succeed())
}

// tryToChange is change where the API server may refuse.
func tryToChange[T client.Object](w *world, object T, edit func(T)) error {
	w.t.Helper()
	w.refresh(object)
	before, _ := object.DeepCopyObject().(T)
	edit(object)
	return w.Patch(w.ctx, object, client.MergeFrom(before))
}
