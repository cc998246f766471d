package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/certificate"
)

// Leaves are the certificates of an ETCDInstance, by the names of their Secrets. Those of members
// name all that there may ever be: one that is added needs no other certificate.
func Leaves(e *workloadsv1alpha1.ETCDInstance) map[string]certificate.Leaf {
	var members []string
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		members = append(members, e.MemberHost(e.MemberName(ordinal)))
	}
	service := e.Name + "." + e.Namespace
	return map[string]certificate.Leaf{
		e.ServerSecretName(): {
			CommonName: e.Name + "-server",
			Names:      append([]string{e.Name, service, service + ".svc", "localhost"}, members...),
			Addresses:  []string{"127.0.0.1"},
		},
		e.PeerSecretName():   {CommonName: e.Name + "-peer", Names: members},
		e.ClientSecretName(): {CommonName: e.Name + "-client"},
	}
}

// Secret holds a certificate.
func Secret(e *workloadsv1alpha1.ETCDInstance, name string, data certificate.Data) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta(e, name),
		Type:       corev1.SecretTypeTLS,
		Data:       data,
	}
}
