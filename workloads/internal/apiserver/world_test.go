package apiserver_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/workloads/internal/operator"
)

// world is one test's hands.
type world struct {
	*WithT
	t *testing.T
	*process.Process
}

// serving starts the server, and waits until the API server of the cluster reaches it.
func serving(t *testing.T) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t}
	w.SetDefaultEventuallyTimeout(2 * time.Minute)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	w.start()
	return w
}

func (w *world) start() {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(file, cluster.OperatorKubeconfig, 0o600)).To(Succeed())
	environment, err := setup.Environment()
	w.Expect(err).NotTo(HaveOccurred())
	w.Process = process.Start(w.t, file, operator.Namespace, environment)
	w.Eventually(w.available).Should(Equal("True"))
	// The API server of the cluster may serve what it knew for a moment.
	w.Eventually(func() error { _, err := w.discover(); return err }).Should(Succeed())
}

// available is the condition of the APIService.
func (w *world) available() string {
	w.t.Helper()
	status, err := setup.Available(w.t.Context(), cluster)
	w.Expect(err).NotTo(HaveOccurred())
	return status
}

func (w *world) discover() (*metav1.APIResourceList, error) {
	clients, err := discovery.NewDiscoveryClientForConfig(cluster.Admin)
	w.Expect(err).NotTo(HaveOccurred())
	return clients.ServerResourcesForGroupVersion(group + "/v1alpha1")
}

// user is someone who may read ETCDInstances, and what else a rule says.
func (w *world) user(name string, rules ...rbacv1.PolicyRule) *rest.Config {
	w.t.Helper()
	ctx := w.t.Context()
	if len(rules) > 0 {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		}
		w.Expect(cluster.Client.Create(ctx, role)).To(Succeed())
		w.Expect(cluster.Client.Create(ctx, binding)).To(Succeed())
		w.t.Cleanup(func() {
			w.Expect(cluster.Client.Delete(context.WithoutCancel(ctx), role)).To(Succeed())
			w.Expect(cluster.Client.Delete(context.WithoutCancel(ctx), binding)).To(Succeed())
		})
	}
	config := rest.CopyConfig(cluster.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	for _, rule := range rules {
		w.Eventually(func() (bool, error) { return w.may(config, rule) }).Should(BeTrue(), "the API server has read the role")
	}
	return config
}

// may reports whether a user has the first right of a rule.
func (w *world) may(as *rest.Config, rule rbacv1.PolicyRule) (bool, error) {
	clients, err := kubernetes.NewForConfig(as)
	w.Expect(err).NotTo(HaveOccurred())
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	review, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(w.t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
		}},
	}, metav1.CreateOptions{})
	return err == nil && review.Status.Allowed, err
}

// mayBackUp is the right to read all data of the instances of a namespace.
var mayBackUp = rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"etcdinstances/backup"}, Verbs: []string{"get"}}

// keeper is a user who has that right.
func (w *world) keeper() *rest.Config { return w.user("keeper", mayBackUp) }
