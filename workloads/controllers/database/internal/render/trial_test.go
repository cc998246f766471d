package render_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

// quantities are written as "cpu=1 memory=1Gi".
func quantities(text string) corev1.ResourceList {
	var list corev1.ResourceList
	for one := range strings.FieldsSeq(text) {
		name, quantity, _ := strings.Cut(one, "=")
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}

// asked are the same amounts as a spec has them.
func asked(text string) workloadsv1.Quantities {
	list := workloadsv1.Quantities{}
	for name, quantity := range quantities(text) {
		list[name] = workloadsv1.Quantity(quantity.String())
	}
	return list
}

// A node that has room for one Pod and not for two takes a trial as well; but not one that
// needs more than there is.
func TestATrialAsksForWhatTheNextPodNeedsBeyondTheRunningOne(t *testing.T) {
	for sentence, c := range map[string]struct{ has, requests, limits, wantRequests, wantLimits string }{
		"nothing is asked for": {},
		"the same again":       {has: "cpu=4 memory=8Gi", requests: "cpu=4 memory=8Gi", wantRequests: "cpu=100m memory=256Mi"},
		"less than before":     {has: "cpu=4 memory=8Gi", requests: "cpu=1 memory=1Gi", wantRequests: "cpu=100m memory=256Mi"},
		"hardly anything":      {requests: "cpu=10m memory=64Mi", wantRequests: "cpu=10m memory=64Mi"},
		"more than before":     {has: "memory=8Gi", requests: "memory=12Gi", wantRequests: "memory=4Gi"},
		"for the first time":   {requests: "memory=12Gi", wantRequests: "memory=12Gi"},
		"limits alone, which are requested as well": {
			has: "memory=1Gi", limits: "memory=3Gi", wantRequests: "memory=2Gi", wantLimits: "memory=2Gi",
		},
		"a limit above what is requested": {
			has: "memory=1Gi", requests: "memory=1Gi", limits: "memory=100Gi", wantRequests: "memory=256Mi", wantLimits: "memory=256Mi",
		},
		"a device that the running one has": {has: "example.com/disk=1", requests: "example.com/disk=1", limits: "example.com/disk=1"},
		"one device more": {
			has: "example.com/disk=1", requests: "example.com/disk=2", limits: "example.com/disk=2", wantRequests: "example.com/disk=1", wantLimits: "example.com/disk=1",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			d := &workloadsv1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}, Spec: workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo}}
			runs := pod(d)
			runs.Spec.Containers[0].Resources.Requests = quantities(c.has)
			d.Spec.Pod.Resources = workloadsv1.PodResources{Requests: asked(c.requests), Limits: asked(c.limits)}
			got := render.Trial(d, images[d.Spec.Type], runs).Spec.Containers[0].Resources
			for list, want := range map[*corev1.ResourceList]string{&got.Requests: c.wantRequests, &got.Limits: c.wantLimits} {
				wanted := quantities(want)
				g.Expect(*list).To(HaveLen(len(wanted)))
				for name, quantity := range wanted {
					has := (*list)[name]
					g.Expect(has.Cmp(quantity)).To(BeZero(), "%s is %s", name, has.String())
				}
			}
		})
	}
}

// The API server takes the name of a Pod of up to 253 characters, a host name of up to 63.
func TestTheLongestNameOfADatabaseHasATrial(t *testing.T) {
	g := NewWithT(t)
	d := &workloadsv1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: strings.Repeat("a", 63)}, Spec: workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo}}
	made := trial(d)
	g.Expect(made.Name).To(HaveLen(69))
	g.Expect(made.Spec.Hostname).To(Equal("trial"))
	for _, value := range made.Labels {
		g.Expect(len(value)).To(BeNumerically("<=", 63))
	}
}

// All else of a trial is that of the next Pod, so that what is proven is proven of it.
func TestATrialHasWhatTheNextPodHas(t *testing.T) {
	eachDatabase(t, func(g Gomega, _ string, d *workloadsv1.Database) {
		next, made := pod(d), trial(d)
		g.Expect(made.Annotations).To(Equal(next.Annotations), "it is of the same spec")
		g.Expect(made.OwnerReferences).To(Equal(next.OwnerReferences), "it goes with the Database")
		g.Expect(made.Spec.NodeSelector).To(Equal(next.Spec.NodeSelector))
		g.Expect(made.Spec.Tolerations).To(Equal(next.Spec.Tolerations))
		g.Expect(made.Spec.ImagePullSecrets).To(Equal(next.Spec.ImagePullSecrets))
		g.Expect(made.Spec.Containers).To(HaveLen(1))
		g.Expect(made.Spec.Containers[0].Image).To(Equal(next.Spec.Containers[0].Image))
		g.Expect(made.Spec.Containers[0].Env).To(BeEmpty(), "it has no password")
		g.Expect(made.Spec.Containers[0].VolumeMounts).To(BeEmpty())
		g.Expect(made.Spec.Volumes).To(BeEmpty(), "it has no data")
	})
}
