package render_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

func TestWhoseAConfigMapIs(t *testing.T) {
	for sentence, test := range map[string]struct {
		change        func(labels map[string]string, controller *metav1.OwnerReference) *metav1.OwnerReference
		ours, earlier bool
	}{
		"ours as it was made": {
			func(_ map[string]string, c *metav1.OwnerReference) *metav1.OwnerReference { return c }, true, false,
		},
		"ours where the earlier AppConfig is gone": {
			func(map[string]string, *metav1.OwnerReference) *metav1.OwnerReference { return nil }, true, false,
		},
		"an earlier one's until the garbage collector has been there": {
			func(_ map[string]string, c *metav1.OwnerReference) *metav1.OwnerReference { c.UID = "app-0"; return c }, false, true,
		},
		"another's that has none of the operator's labels": {
			func(l map[string]string, _ *metav1.OwnerReference) *metav1.OwnerReference { clear(l); return nil }, false, false,
		},
		"another's that only the label of its use has": {
			func(l map[string]string, _ *metav1.OwnerReference) *metav1.OwnerReference {
				delete(l, "app.kubernetes.io/managed-by")
				return nil
			}, false, false,
		},
		"another's of another AppConfig": {
			func(l map[string]string, _ *metav1.OwnerReference) *metav1.OwnerReference {
				l[workloadsv2.LabelAppConfig] = "till"
				return nil
			}, false, false,
		},
		"another's of another kind": {
			func(_ map[string]string, c *metav1.OwnerReference) *metav1.OwnerReference {
				c.UID, c.Kind = "x", "Pod"
				return c
			}, false, false,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			config := render.Revision(theShop(), 1)
			controller := test.change(config.Labels, metav1.GetControllerOf(config))
			config.OwnerReferences = nil
			if controller != nil {
				config.OwnerReferences = []metav1.OwnerReference{*controller}
			}
			g.Expect(render.IsOurs(config, theShop())).To(Equal(test.ours))
			g.Expect(render.IsEarlier(config, theShop())).To(Equal(test.earlier))
		})
	}
}

func TestTheOwnersOfAConfigMapAreBounded(t *testing.T) {
	g := NewWithT(t)
	config := render.Revision(theShop(), 1)
	var workloads []render.Workload
	for i := range 2 * render.MostOwners {
		workloads = append(workloads, render.Workload{Kind: "Deployment", Name: fmt.Sprint("d-", i), UID: types.UID(fmt.Sprint("uid-", i))})
	}
	render.Own(config, theShop(), workloads)
	g.Expect(config.OwnerReferences).To(HaveLen(1 + render.MostOwners))
	same := config.DeepCopy()
	render.Own(config, theShop(), workloads)
	g.Expect(config).To(Equal(same), "those that it has already stay, and come no second time")
}
