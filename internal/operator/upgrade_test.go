package operator_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/crds"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/operator/olm"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/testenv"
)

const (
	installed      = "critical-service-operator.v1.0.0"
	underOLM       = olm.Variable + "=" + installed
	serviceAccount = "critical-service-operator"
)

// With a door that is shut the migration goes on and on.
func TestOLMWaitsWhileStoredObjectsAreRewritten(t *testing.T) {
	w := newWorld(t)
	w.installOLM()
	w.makeOperatorCondition()
	w.installOld()
	w.createShop()
	w.installNew()
	door := ports.Free(w.t)
	p := w.start(underOLM, "WEBHOOK_URL=https://"+door)

	w.Eventually(w.lastReported).Should(Equal(metav1.ConditionFalse))
	reported := w.operatorCondition().Spec
	w.Expect(reported.Conditions[0].Reason).To(Equal(olm.ReasonMigration))
	w.Expect(reported.Conditions[0].Message).NotTo(BeEmpty())
	w.Eventually(p.Ready).Should(Succeed(), "only OLM waits")

	openDoor(w, door, p.Webhook)
	w.Eventually(w.lastReported).Should(Equal(metav1.ConditionTrue))
	w.Expect(w.definition().Status.StoredVersions).To(Equal([]string{"v2"}))
	reported = w.operatorCondition().Spec
	w.Expect(reported.Conditions).To(HaveLen(1))
	w.Expect(reported.Conditions[0].Reason).To(Equal(olm.ReasonNoMigration))
	w.Expect(reported.ServiceAccounts).To(Equal([]string{serviceAccount}), "what OLM wrote is kept")
}

func TestTheNextLeaderCorrectsWhatAKilledOneReported(t *testing.T) {
	w := newWorld(t)
	w.installOLM()
	w.makeOperatorCondition()
	w.installOld()
	w.createShop()
	w.installNew()
	p := w.start(underOLM, "WEBHOOK_URL=https://"+ports.Free(w.t)) // Where nothing listens, so that the migration does not end.
	w.Eventually(w.lastReported).Should(Equal(metav1.ConditionFalse))

	p.Die()
	stop := w.startMigration()
	w.Eventually(func() []string { return w.definition().Status.StoredVersions }).Should(Equal([]string{"v2"}))
	stop()
	w.Expect(w.lastReported()).To(Equal(metav1.ConditionFalse), "no operator is there to report more")

	w.start(underOLM)
	w.Eventually(w.lastReported).Should(Equal(metav1.ConditionTrue))
}

func TestAnOperatorConditionThatCannotBeWrittenBlocksNothing(t *testing.T) {
	tests := map[string]struct{ known bool }{
		"it does not exist, and is not permitted": {known: true},
		"the API server does not know the kind":   {known: false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if test.known {
				w.installOLM()
			}
			w.installNew()
			p := w.start(underOLM)
			w.Eventually(p.Log.String).Should(ContainSubstring("read OperatorCondition " + operatorNamespace + "/" + installed))
			w.Eventually(p.Ready).Should(Succeed())
			w.createShop()
			w.Eventually(w.observed("shop")).Should(BeTrue(), "the controllers run")

			if !test.known {
				w.installOLM()
			}
			w.makeOperatorCondition()
			w.Eventually(w.lastReported).Should(Equal(metav1.ConditionTrue), "it is tried again")
		})
	}
}

func TestOnlyOLMMakesTheOperatorAskForAnOperatorCondition(t *testing.T) {
	tests := map[string]struct {
		variables []string
		asks      bool
	}{
		"OLM names an OperatorCondition": {variables: []string{underOLM}, asks: true},
		"no variable names one":          {variables: []string{olm.Variable + "="}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.installOLM()
			w.makeOperatorCondition()
			w.installNew()
			config, asked := w.eavesdrop()
			p := w.start(append(test.variables, "KUBECONFIG="+config)...)
			w.createShop()
			w.Eventually(w.observed("shop")).Should(BeTrue(), "the controllers run")
			if test.asks {
				w.Eventually(asked).Should(ContainElement(ContainSubstring("/operatorconditions/" + installed)))
				w.Eventually(w.lastReported).Should(Equal(metav1.ConditionTrue))
			}
			p.Stop()
			w.Expect(asked()).To(ContainElement(ContainSubstring("/criticalservices")), "nothing is overheard otherwise")
			if !test.asks {
				w.Expect(asked()).NotTo(ContainElement(ContainSubstring(operatorsv2.GroupVersion.Group)))
				w.Expect(w.operatorCondition().Spec.Conditions).To(BeEmpty())
			}
		})
	}
}

// installOLM installs the kind OperatorCondition, until the test is over.
func (w *world) installOLM() {
	w.t.Helper()
	crd := crds.OperatorCondition().DeepCopy()
	w.Expect(admin.Create(w.t.Context(), crd)).To(Succeed())
	w.Eventually(func() error { return admin.List(w.t.Context(), &operatorsv2.OperatorConditionList{}) }).Should(Succeed())
	w.t.Cleanup(func() {
		ctx := context.WithoutCancel(w.t.Context())
		w.Expect(admin.Delete(ctx, crd)).To(Succeed())
		w.Eventually(func() bool { return testenv.Gone(ctx, admin, crd) }).Should(BeTrue())
	})
}

// makeOperatorCondition does what OLM does for a version that it installs, and
// grants what OLM grants, to the letter.
func (w *world) makeOperatorCondition() {
	w.t.Helper()
	where := metav1.ObjectMeta{Namespace: operatorNamespace, Name: installed}
	objects := []client.Object{
		&operatorsv2.OperatorCondition{ObjectMeta: where, Spec: operatorsv2.OperatorConditionSpec{
			ServiceAccounts: []string{serviceAccount}, Deployments: []string{"critical-service-operator"},
		}},
		&rbacv1.Role{ObjectMeta: where, Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"get", "update", "patch"}, APIGroups: []string{"operators.coreos.com"},
			Resources: []string{"operatorconditions"}, ResourceNames: []string{installed},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: where,
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: serviceAccount, Namespace: operatorNamespace}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: installed},
		},
	}
	for _, object := range objects {
		borrow(w.t, object)
	}
}

func (w *world) operatorCondition() *operatorsv2.OperatorCondition {
	w.t.Helper()
	found := &operatorsv2.OperatorCondition{}
	w.Expect(admin.Get(w.t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: installed}, found)).To(Succeed())
	return found
}

// lastReported is what the operator has reported to OLM; empty is nothing yet.
func (w *world) lastReported() metav1.ConditionStatus {
	w.t.Helper()
	if found := meta.FindStatusCondition(w.operatorCondition().Spec.Conditions, operatorsv2.Upgradeable); found != nil {
		return found.Status
	}
	return ""
}

// eavesdrop stands between an operator and the API server, and notes what the
// operator asks for.
func (w *world) eavesdrop() (config string, asked func() []string) {
	w.t.Helper()
	traffic := testenv.NewTraffic(nil)
	return w.between(traffic), func() []string {
		var paths []string
		for _, r := range traffic.Requests(func(testenv.Request) bool { return true }) {
			paths = append(paths, r.Method+" "+r.Path)
		}
		return paths
	}
}

// between is the kubeconfig of an operator whose requests come through a Traffic. One that is lost breaks its connection.
func (w *world) between(traffic *testenv.Traffic) (config string) {
	w.t.Helper()
	user, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	transport, err := rest.TransportFor(user)
	w.Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(user.Host)
	w.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: traffic.Through(transport), FlushInterval: -1,
		Rewrite:      func(request *httputil.ProxyRequest) { request.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	w.t.Cleanup(server.CloseClientConnections)
	w.t.Cleanup(server.Close)
	written := clientcmdapi.NewConfig()
	written.Clusters["between"] = &clientcmdapi.Cluster{Server: server.URL}
	written.Contexts["between"] = &clientcmdapi.Context{Cluster: "between"}
	written.CurrentContext = "between"
	config = filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(clientcmd.WriteToFile(*written, config)).To(Succeed())
	return config
}
