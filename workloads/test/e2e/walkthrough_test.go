//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/critical-service/operator/test/document"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// databasePage is the page with the exercise of Databases.
const databasePage = "../../../docs/database.md"

// TestTheWalkThroughOfTheDocument types what the exercise "Kubernetes Operator" (with Kopf and Python) types once its
// operator runs. Its YAML is unchanged but for the group. That of mysql it describes in its last sentence. So does
// docs/database.md, whose own commands are typed as they stand there.
func TestTheWalkThroughOfTheDocument(t *testing.T) {
	for kind, document := range map[workloadsv1.DatabaseType]struct{ name, image, ports string }{
		workloadsv1.DatabaseMongo: {"mongo-db", "mongo:4.0", `27017:(\d+)/TCP`},
		workloadsv1.DatabaseMySQL: {"mysql-db", "mysql:8.0", `3306:(\d+)/TCP`},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			file := "testdata/document-" + string(kind) + ".yaml"
			w.Expect(w.kubectl("apply", "-f", file)).To(Equal("database.mycrd.com/" + document.name + " created\n"))

			// "Nous pouvons ensuite vérifier que cela a bien déclenché la création d'un Pod et d'un Service"
			w.Eventually(w.kubectl).WithArguments("get", "pod,svc").Should(And(
				MatchRegexp(`(?m)^NAME +READY +STATUS +RESTARTS +AGE *$`),
				MatchRegexp(`(?m)^pod/`+document.name+` +1/1 +Running +0 `),
				MatchRegexp(`(?m)^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE *$`),
				MatchRegexp(`(?m)^service/`+document.name+` +NodePort +\S+ +<none> +`+document.ports),
			))
			d := &database{world: w, object: &workloadsv1.Database{ObjectMeta: w.named(document.name)}}
			d.refresh(d.object)
			d.is(workloadsv1.ConditionReady, metav1.ConditionTrue, workloadsv1.ReasonRunning)
			d.Expect(d.pod().Spec.Containers).To(ConsistOf(And(HaveField("Name", string(kind)), HaveField("Image", document.image))))
			d.Expect(d.object.Status.Message).To(Equal("Pod and Service created by Database " + document.name))
			d.Expect(d.object.Status.PodName).To(Equal(document.name))

			// The column of the definition comes first, and both short names are served.
			for _, name := range []string{"databases", "db", "dbs"} {
				d.Expect(w.kubectl("get", name)).To(And(
					MatchRegexp(`^NAME +TYPE +READY +ADDRESS +AGE *\n`),
					MatchRegexp(`(?m)^`+document.name+` +`+string(kind)+` +True +`+d.object.Status.Address+` `),
				))
			}

			// "Nous pouvons alors utiliser le NodePort associé au service pour accéder à ce Pod"
			d.write("first")
			d.holds("first")
			if kind == workloadsv1.DatabaseMongo {
				d.Expect(w.follow(databasePage, "mongosh", dialects[kind].read+"\n")).To(ContainSubstring("first"))
			}
			belonging := []string{"get", "pod,svc,secret", "--selector", workloadsv1.LabelDatabase + "=" + document.name}
			d.Expect(w.kubectl(belonging...)).To(And(
				ContainSubstring("pod/"+document.name+" "), ContainSubstring("service/"+document.name+" "), ContainSubstring("secret/"+d.object.SecretName()+" "),
			))

			// "nous pouvons vérifier qu'ils sont supprimés avec celle-ci"
			d.Expect(w.kubectl("delete", "-f", file)).To(HavePrefix(`database.mycrd.com "` + document.name + `" deleted`))
			w.gone(&corev1.Pod{ObjectMeta: w.named(document.name)})
			w.gone(&corev1.Service{ObjectMeta: w.named(document.name)})
			w.gone(&corev1.Secret{ObjectMeta: w.named(d.object.SecretName())})
			none := "No resources found in " + w.namespace + " namespace.\n"
			w.Expect(w.kubectl(belonging...)).To(Equal(none))
			// Nothing answers for what is not there.
			w.Eventually(w.kubectl).WithArguments("get", "pod,svc,svcfb").Should(Equal(none))
		})
	}
}

// follow types the commands with these words of the exercise on a page, in a shell in the scenario's namespace, and is what
// they print. The last of them reads the input.
func (w *world) follow(page, words, input string) string {
	w.t.Helper()
	output, err := w.tryToFollow(page, words, input)
	w.Expect(err).NotTo(HaveOccurred(), "%s\n%s", words, output)
	return output
}

// tryToFollow is follow where a command may fail.
func (w *world) tryToFollow(page, words, input string) (output string, err error) {
	w.t.Helper()
	commands, err := document.Block(page, "The exercise, step by step", "sh", words)
	w.Expect(err).NotTo(HaveOccurred())
	commands = strings.ReplaceAll(commands, documentImage, demoImage)
	config, err := clientcmd.LoadFromFile(w.Kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(clientcmd.ResolveLocalPaths(config)).To(Succeed())
	config.Contexts[config.CurrentContext].Namespace = w.namespace
	home := w.t.TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	w.Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())

	command := exec.CommandContext(w.ctx, "sh", "-ec", commands)
	path := []string{filepath.Dir(kubectl), mongoDB, os.Getenv("PATH")}
	command.Env = append(os.Environ(), "HOME="+home, "KUBECONFIG="+kubeconfig, "PATH="+strings.Join(path, string(filepath.ListSeparator)))
	command.Stdin = strings.NewReader(input)
	text, err := command.CombinedOutput()
	return string(text), err
}

// kubectl runs kubectl in the scenario's namespace, and is what it prints.
func (w *world) kubectl(arguments ...string) string {
	w.t.Helper()
	output, err := w.tryKubectl(arguments...)
	w.Expect(err).NotTo(HaveOccurred(), output)
	return output
}

// tryKubectl is kubectl where it may fail.
func (w *world) tryKubectl(arguments ...string) (output string, err error) {
	w.t.Helper()
	arguments = append(arguments, "--kubeconfig="+w.Kubeconfig, "--namespace="+w.namespace)
	text, err := exec.CommandContext(w.ctx, kubectl, arguments...).CombinedOutput()
	return string(text), err
}
