// Package quota makes ResourceQuotas that are in force once a test goes on.
package quota

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leases is what each of these quotas denies beside, so that InForce can ask with one kind of object for all of them.
const leases = corev1.ResourceName("count/leases.coordination.k8s.io")

// New is a quota of so many objects of one resource, for example pods or count/configmaps.
func New(namespace, name string, of corev1.ResourceName, most int64) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			of: *resource.NewQuantity(most, resource.DecimalSI), leases: resource.MustParse("0"),
		}},
	}
}

// InForce is nil once the API server denies what a quota forbids. It counts by the status of a quota, which a controller
// writes, and reads quotas from a cache: what is created a moment after the quota may still be admitted.
func InForce(ctx context.Context, c client.Client, quota *corev1.ResourceQuota) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: quota.Namespace, Name: quota.Name}}
	switch err := c.Create(ctx, lease, client.DryRunAll); {
	case err == nil:
		return fmt.Errorf("the API server does not know quota %s yet: it admits a Lease", quota.Name)
	case strings.Contains(err.Error(), "exceeded quota: "+quota.Name):
		return nil
	default:
		return err
	}
}
