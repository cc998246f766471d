package apiserver_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

// articles serves the groups of the documents as well, as their component has it installed.
func articles(t *testing.T) *world {
	t.Helper()
	w := serving(t)
	for _, file := range []string{"apiservices.yaml", "role.yaml"} {
		objects, err := testenv.ReadYAML(testenv.Path("workloads/config/articles/" + file))
		w.Expect(err).NotTo(HaveOccurred())
		for _, object := range objects {
			if object.GetKind() == "APIService" {
				w.Expect(unstructured.SetNestedField(object.Object, int64(setup.Port), "spec", "service", "port")).To(Succeed())
			}
			w.Expect(cluster.Client.Create(t.Context(), object)).To(Succeed())
			t.Cleanup(func() { w.Expect(cluster.Client.Delete(context.WithoutCancel(t.Context()), object)).To(Succeed()) })
		}
	}
	for _, group := range []string{"etcdaas.devoxx2018/v1alpha1", "etcdas.devoxx2018/v1alpha1", "zalando.org/v1"} {
		w.Eventually(func() string { return w.kubectl("", "", "get", "--raw", "/apis/"+group) }).Should(ContainSubstring("APIResourceList"))
	}
	// kubectl looks them up in the list of all groups, which follows a moment later.
	w.Eventually(func() []string { return strings.Fields(w.kubectl("", "", "api-resources", "-o", "name")) }).Should(ContainElements(
		"etcdinstances.etcdaas.devoxx2018", "etcdinstances.etcdas.devoxx2018", "databases.zalando.org"))
	return w
}

// kubectl runs the real one as a user, with an input, and returns what it says.
func (w *world) kubectl(as, input string, arguments ...string) string {
	w.t.Helper()
	config := api.NewConfig()
	config.Clusters["here"] = &api.Cluster{Server: cluster.Admin.Host, CertificateAuthorityData: cluster.Admin.CAData}
	if !strings.Contains(cluster.Admin.Host, "://") {
		config.Clusters["here"].Server = "https://" + cluster.Admin.Host
	}
	config.AuthInfos["admin"] = &api.AuthInfo{ClientCertificateData: cluster.Admin.CertData, ClientKeyData: cluster.Admin.KeyData}
	config.Contexts["here"] = &api.Context{Cluster: "here", AuthInfo: "admin", Namespace: namespace}
	config.CurrentContext = "here"
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	arguments = append([]string{"--kubeconfig", file, "--cache-dir", filepath.Join(w.t.TempDir(), "cache")}, arguments...)
	if as != "" {
		arguments = append(arguments, "--as", as)
	}
	command := exec.CommandContext(w.t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), arguments...)
	command.Stdin = strings.NewReader(input)
	output, _ := command.CombinedOutput()
	return string(output)
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

var all = []string{"create", "get", "list", "watch", "update", "patch", "delete"}

func TestTheFilesAndCommandsOfTheWorkshop(t *testing.T) {
	w := articles(t)
	for _, group := range []string{"etcdaas.devoxx2018", "etcdas.devoxx2018"} {
		t.Run(group, func(t *testing.T) {
			w := &world{WithT: NewWithT(t), t: t, Process: w.Process}
			w.user("student", rule(group, "etcdinstances", all...), rule("mycrd.com", "etcdinstances", all...))
			w.Expect(w.kubectl("", "", "api-versions")).To(ContainSubstring(group + "/v1alpha1"))
			file := "apiVersion: " + group + "/v1alpha1\nkind: ETCDInstance\nmetadata:\n  name: myinstance\n"
			w.Expect(w.kubectl("student", file, "create", "-f", "-")).To(Equal("etcdinstance." + group + "/myinstance created\n"))
			var made workloadsv1alpha1.ETCDInstance
			w.Expect(cluster.Client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "myinstance"}, &made)).To(Succeed(), "it is one of ours")
			w.Expect(made.Spec.Replicas).To(BeEquivalentTo(1))

			resource := "etcdinstances." + group
			w.Expect(w.kubectl("student", "", "get", resource)).To(MatchRegexp(`NAME +STATE +READY +AGE\n(?s:.*)myinstance +0/1`))
			w.Expect(w.kubectl("student", "", "get", resource, "myinstance", "-o", "jsonpath={.apiVersion} {.kind}")).To(Equal(group + "/v1alpha1 ETCDInstance"))
			w.Expect(w.kubectl("student", "", "describe", resource, "myinstance")).To(ContainSubstring("API Version:  " + group + "/v1alpha1"))
			w.Expect(w.kubectl("student", "", "patch", resource, "myinstance", "--type=merge", "-p", `{"spec":{"replicas":2}}`)).To(ContainSubstring("patched"))
			w.Expect(w.kubectl("student", file, "apply", "-f", "-")).To(ContainSubstring("configured"))
			w.Expect(w.kubectl("student", "", "wait", "--for=jsonpath={.spec.replicas}=2", resource+"/myinstance", "--timeout=60s")).To(ContainSubstring("condition met"))
			w.Expect(w.kubectl("student", strings.Replace(file, "myinstance", "x\nspec: {replicas: 10}", 1), "create", "-f", "-")).To(ContainSubstring("spec.replicas"))
			w.Expect(w.kubectl("student", "", "delete", resource, "myinstance")).To(ContainSubstring("deleted"))
			w.Expect(w.kubectl("student", "", "get", resource, "myinstance")).To(ContainSubstring("NotFound"))
		})
	}
}

func TestTheFileOfTheArticleOnDatabases(t *testing.T) {
	w := articles(t)
	w.user("reader", rule("zalando.org", "databases", all...), rule("mycrd.com", "databases", all...))
	file := "apiVersion: zalando.org/v1\nkind: Database\nmetadata:\n  name: mongo-db\nspec:\n  type: mongo\n"
	w.Expect(w.kubectl("reader", file, "create", "-f", "-")).To(Equal("database.zalando.org/mongo-db created\n"))
	var made workloadsv1.Database
	w.Expect(cluster.Client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "mongo-db"}, &made)).To(Succeed())
	w.Expect(made.Spec.Service.Type).To(BeEquivalentTo("NodePort"), "as the article has it")
	w.Expect(w.kubectl("reader", "", "get", "databases.zalando.org")).To(MatchRegexp(`NAME +TYPE +AGE\nmongo-db +mongo +`))
	w.Expect(w.kubectl("reader", file, "delete", "-f", "-")).To(ContainSubstring("deleted"))
}

func TestNoOneGainsByAnAlias(t *testing.T) {
	w := articles(t)
	const group = "etcdaas.devoxx2018"
	w.user("alias", rule(group, "etcdinstances", all...), rule(group, "etcdinstances/backup", "get"))
	w.user("kind", rule("mycrd.com", "etcdinstances", all...), mayBackUp)
	backup := strings.Replace(backupURL, etcd.Subresources.Group, group, 1)
	file := "apiVersion: " + group + "/v1alpha1\nkind: ETCDInstance\nmetadata: {name: gained}\n"
	resource := "etcdinstances." + group
	for sentence, test := range map[string]struct {
		as, input string
		arguments []string
		says      string
	}{
		"the alias alone does not read": {"alias", "", []string{"get", resource}, "of which this is a view"},
		"nor read one":                  {"alias", "", []string{"get", resource, instance}, "of which this is a view"},
		"nor create":                    {"alias", file, []string{"create", "-f", "-"}, "of which this is a view"},
		"nor change":                    {"alias", "", []string{"patch", resource, instance, "--type=merge", "-p", `{"spec":{"replicas":9}}`}, "of which this is a view"},
		"nor delete":                    {"alias", "", []string{"delete", resource, instance}, "of which this is a view"},
		"nor back up":                   {"alias", "", []string{"get", "--raw", backup}, "etcdinstances/backup.subresources.mycrd.com in the namespace"},
		"the right to the kind is none to the alias":   {"kind", "", []string{"get", resource}, "cannot list resource"},
		"the right to the backup is none to the alias": {"kind", "", []string{"get", "--raw", backup}, "cannot get resource"},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(w.kubectl(test.as, test.input, test.arguments...)).To(And(ContainSubstring("orbidden"), ContainSubstring(test.says)))
		})
	}
	var kept workloadsv1alpha1.ETCDInstance
	w.Expect(cluster.Client.Get(t.Context(), named, &kept)).To(Succeed())
	w.Expect(kept.Spec.Replicas).To(BeEquivalentTo(1))

	w.user("both", rule(group, "etcdinstances/backup", "get"), mayBackUp)
	w.Expect(w.get(w.user("both"), backup)).To(HaveHTTPStatus(200), "with both rights a backup is taken by the alias")
}

func TestAnObjectThatIsTooLargeIsNotRead(t *testing.T) {
	w := articles(t)
	answer, err := w.post(cluster.Admin, "/apis/zalando.org/v1/namespaces/"+namespace+"/databases", strings.NewReader(strings.Repeat(" ", 1<<20+1)))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(answer).To(HaveHTTPStatus(http.StatusRequestEntityTooLarge))
}
