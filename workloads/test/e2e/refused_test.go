//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/cluster"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

func TestADatabaseThatCannotBeIsRefusedInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for sentence, test := range map[string]struct{ name, spec, says string }{
		"no type":                         {"shop", `{}`, "spec.type: Required value"},
		"an unknown type":                 {"shop", `{type: oracle}`, `supported values: "mongo", "mysql", "postgres"`},
		"a size with a blank":             {"shop", `{type: mongo, storage: {size: 1 Gi}}`, "size must be a quantity from 1Mi to 1Pi, without a blank"},
		"two fallbacks":                   {"shop", `{type: mongo, fallback: {page: {}, none: {}}}`, "fallback must have exactly one of page, podTemplate, service and none"},
		"an image with a blank":           {"shop", `{type: mongo, image: mongo 4}`, "image must be the name of an image"},
		"a Secret's name with a capital":  {"shop", `{type: mongo, credentials: {secretName: Shop}}`, "secretName must be a Secret's name"},
		"a name that no Service can have": {"4shop", `{type: mongo}`, "the name of a Database is that of its Service"},
	} {
		manifest := fmt.Sprintf("{apiVersion: mycrd.com/v1, kind: Database, metadata: {name: %q, namespace: %s}, spec: %s}", test.name, w.namespace, test.spec)
		w.Expect(w.refuses(manifest)).To(ContainSubstring(test.says), sentence)
	}
}

// refuses is why the API server does not create an object.
func (w *world) refuses(manifest string) string {
	w.t.Helper()
	objects, err := cluster.Decode([]byte(manifest))
	w.Expect(err).NotTo(HaveOccurred())
	err = w.Create(w.ctx, objects[0], client.DryRunAll)
	w.Expect(err).To(HaveOccurred(), "%s is accepted", manifest)
	return err.Error()
}

// TestADatabaseGoesOnWhateverItsSpecSays: what the schema refuses, and what only the cluster refuses.
func TestADatabaseGoesOnWhateverItsSpecSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.database("shop", workloadsv1.DatabaseMongo, w.stored()).runs()
	d.write("first")
	client, pod := d.talk(), d.pod()
	client.isAnswered()

	for sentence, test := range map[string]struct {
		edit func(*workloadsv1.DatabaseSpec)
		says string
	}{
		"another type":       {func(s *workloadsv1.DatabaseSpec) { s.Type = workloadsv1.DatabaseMySQL }, "type must not be changed"},
		"a smaller volume":   {func(s *workloadsv1.DatabaseSpec) { s.Storage.Size = "1Mi" }, "size must not become smaller"},
		"another class":      {func(s *workloadsv1.DatabaseSpec) { s.Storage.StorageClassName = new("other") }, "storageClassName must not be changed"},
		"no volume any more": {func(s *workloadsv1.DatabaseSpec) { s.Storage = nil }, "storage must not be added or removed"},
		"another Secret":     {func(s *workloadsv1.DatabaseSpec) { s.Credentials.SecretName = "other" }, "credentials.secretName must not be changed"},
	} {
		err := tryToChange(w, d.object, func(o *workloadsv1.Database) { test.edit(&o.Spec) })
		w.Expect(err).To(MatchError(ContainSubstring(test.says)), sentence)
		d.refresh(d.object)
	}

	// Resources that the namespace does not allow.
	w.limitCPU("1", "2")
	d.edit(func(s *workloadsv1.DatabaseSpec) {
		s.Pod.Resources.Limits = workloadsv1.Quantities{corev1.ResourceCPU: "2"}
	})
	d.is(workloadsv1.ConditionReady, metav1.ConditionFalse, workloadsv1.ReasonCreateDenied, "maximum cpu usage per Container is 1", "the database answers as it did")
	d.keeps(pod)
	d.edit(func(s *workloadsv1.DatabaseSpec) { s.Pod.Resources.Limits = nil })
	d.runs()

	// A volume that nothing can make larger.
	d.edit(func(s *workloadsv1.DatabaseSpec) { s.Storage.Size = "2Gi" })
	d.is(workloadsv1.ConditionReady, metav1.ConditionTrue, workloadsv1.ReasonStorageDenied, "allowVolumeExpansion")
	d.keeps(pod)
	w.Expect(client.asks()).To(Equal(fine))
	d.holds("first")
}

// limitCPU bounds what a container may take, and waits until the API server refuses a larger one: it reads limits from a cache.
func (w *world) limitCPU(most, more string) {
	w.t.Helper()
	w.create(&corev1.LimitRange{ObjectMeta: w.named("small"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(most)},
	}}}})
	large := &corev1.Pod{ObjectMeta: w.named("large"), Spec: cluster.WebPod(demoImage, "large")}
	large.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(more)}
	w.Eventually(func() error { return w.Create(w.ctx, large.DeepCopy(), client.DryRunAll) }).Should(MatchError(ContainSubstring("maximum cpu usage")))
}

// TestWhatRunsGoesOnUntilTheNextWasTriedOut: what only a node knows. Clients read and write meanwhile, and the corrected spec
// is rolled out.
func TestWhatRunsGoesOnUntilTheNextWasTriedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.database("shop", workloadsv1.DatabaseMongo, w.stored()).runs()
	d.write("first")
	client, pod := d.talk(), d.pod()
	client.isAnswered()
	image := pod.Spec.Containers[0].Image
	missing := func(s *workloadsv1.DatabaseSpec) { s.Image = image + "-missing" }
	goesOn := func(edit func(*workloadsv1.DatabaseSpec), reason string, words ...string) {
		t.Helper()
		d.edit(edit)
		d.is(workloadsv1.ConditionReady, metav1.ConditionFalse, reason, append(words, "the database answers as it did")...)
		d.keeps(pod)
		w.Expect(d.endpoints()).To(ConsistOf("shop"))
		w.Expect(client.asks()).To(Equal(fine))
	}
	for _, test := range []struct {
		edit   func(*workloadsv1.DatabaseSpec)
		reason string
		words  []string
	}{
		{missing, workloadsv1.ReasonImagePullFailing, []string{image + "-missing", "correct spec.image"}},
		{func(s *workloadsv1.DatabaseSpec) { s.Image = "postgres:16" }, workloadsv1.ReasonPodFailing, []string{`"postgres:16"`, "cannot be started", "kubectl describe pod shop-trial"}},
		{func(s *workloadsv1.DatabaseSpec) { s.Pod.NodeSelector = map[string]string{"example.com/disk": "fast"} }, workloadsv1.ReasonUnschedulable, []string{"change spec.pod"}},
		{func(s *workloadsv1.DatabaseSpec) {
			s.Pod.Resources.Requests = workloadsv1.Quantities{corev1.ResourceMemory: "100Ti"}
		}, workloadsv1.ReasonUnschedulable, []string{"Insufficient memory", "change spec.pod"}},
	} {
		goesOn(test.edit, test.reason, test.words...)
		d.edit(func(s *workloadsv1.DatabaseSpec) { s.Image, s.Pod = "", workloadsv1.PodSettings{} })
		d.runs()
		w.gone(&corev1.Pod{ObjectMeta: w.named("shop-trial")})
	}

	goesOn(missing, workloadsv1.ReasonImagePullFailing)
	d.write("second")
	d.edit(func(s *workloadsv1.DatabaseSpec) { s.Image = "docker.io/library/" + image })
	d.replaced(pod)
	client.isAnswered()
	d.runs()
	d.holds("first", "second")
	w.gone(&corev1.Pod{ObjectMeta: w.named("shop-trial")})
}

// TestWhatIsWrongIsSaidWithItsRemedy: each Database cannot run, says why, and runs once that is put right.
func TestWhatIsWrongIsSaidWithItsRemedy(t *testing.T) {
	for sentence, test := range map[string]struct {
		kind workloadsv1.DatabaseType
		edit func(*world, *workloadsv1.Database)
		// reason and words are what Ready says.
		reason string
		words  []string
		remedy func(*database)
	}{
		"its Secret is missing": {
			kind:   workloadsv1.DatabasePostgres,
			edit:   func(_ *world, o *workloadsv1.Database) { o.Spec.Credentials.SecretName = "own" },
			reason: workloadsv1.ReasonSecretInvalid, words: []string{`Secret "own" does not exist: create it`},
			remedy: func(d *database) {
				own := &corev1.Secret{ObjectMeta: d.named("own"), StringData: map[string]string{"username": "me"}}
				d.create(own)
				d.is(workloadsv1.ConditionReady, metav1.ConditionFalse, workloadsv1.ReasonSecretInvalid, "lacks the key password")
				change(d.world, own, func(s *corev1.Secret) { s.StringData = map[string]string{"password": "mine"} })
			},
		},
		"a Service of another user has its name": {
			kind: workloadsv1.DatabaseMongo,
			edit: func(w *world, o *workloadsv1.Database) {
				w.create(&corev1.Service{ObjectMeta: w.named(o.Name), Spec: corev1.ServiceSpec{
					Selector: map[string]string{"of": "another"}, Ports: []corev1.ServicePort{{Port: 80}},
				}})
			},
			reason: workloadsv1.ReasonNameTaken, words: []string{`Service "shop" exists and does not belong to this Database`, "delete or rename it"},
			remedy: func(d *database) {
				service := &corev1.Service{ObjectMeta: d.named("shop")}
				d.refresh(service)
				d.Expect(service.Spec.Selector).To(Equal(map[string]string{"of": "another"}), "it is left alone")
				d.remove(service)
			},
		},
		"the namespace has no room for its Pod": {
			kind: workloadsv1.DatabaseMongo,
			edit: func(w *world, _ *workloadsv1.Database) {
				w.forbid(corev1.ResourcePods)
			},
			reason: workloadsv1.ReasonCreateDenied, words: []string{"exceeded quota: none", "Raise the quota, or ask for less."},
			remedy: func(d *database) { d.remove(&corev1.ResourceQuota{ObjectMeta: d.named("none")}) },
		},
		"its image is that of another engine": {
			kind:   workloadsv1.DatabasePostgres,
			edit:   func(_ *world, o *workloadsv1.Database) { o.Spec.Image = "mysql:8.0" },
			reason: workloadsv1.ReasonPodFailing, words: []string{"kubectl logs shop"},
			remedy: func(d *database) { d.edit(func(s *workloadsv1.DatabaseSpec) { s.Image = "postgres:16" }) },
		},
		"no node takes it": {
			kind: workloadsv1.DatabaseMongo,
			edit: func(_ *world, o *workloadsv1.Database) {
				o.Spec.Pod.NodeSelector = map[string]string{"example.com/disk": "fast"}
			},
			reason: workloadsv1.ReasonUnschedulable, words: []string{"change spec.pod, or make room"},
			remedy: func(d *database) { d.edit(func(s *workloadsv1.DatabaseSpec) { s.Pod.NodeSelector = nil }) },
		},
		"there is no volume": {
			kind: workloadsv1.DatabaseMongo,
			edit: func(w *world, o *workloadsv1.Database) {
				o.Spec.Storage = &workloadsv1.DatabaseStorage{Size: "1Gi", StorageClassName: new(w.namespace)}
			},
			reason: workloadsv1.ReasonStoragePending, words: []string{"kubectl describe pvc shop-data"},
			remedy: func(d *database) { d.stored() },
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := w.database("shop", test.kind, withoutFallback, func(o *workloadsv1.Database) { test.edit(w, o) })
			d.is(workloadsv1.ConditionReady, metav1.ConditionFalse, test.reason, test.words...)
			test.remedy(d)
			d.is(workloadsv1.ConditionReady, metav1.ConditionTrue, workloadsv1.ReasonRunning)
		})
	}
}

func withoutFallback(d *workloadsv1.Database) {
	d.Spec.Fallback = &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}}
}
