package cluster

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MetricsToken makes a ServiceAccount which may read the operator's metrics, and nothing else, and returns its token,
// valid for a while, and the objects that the caller deletes in the end: also those made before an error.
func (c *Cluster) MetricsToken(ctx context.Context, namespace, name string, valid time.Duration) (token string, made []client.Object, err error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "critical-service-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	for _, object := range []client.Object{account, binding} {
		if err := c.Create(ctx, object); err != nil {
			return "", made, err
		}
		made = append(made, object)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(valid.Seconds()))}}
	err = c.SubResource("token").Create(ctx, account, request)
	return request.Status.Token, made, err
}
