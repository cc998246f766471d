package stories_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice"
)

var updateGolden = flag.Bool("update", false, "update the golden files")

// What a person reads with plain kubectl, of a CriticalService with one Service
// that is covered and one that is exposed, and of the Services themselves. The
// golden files are to be read as a newcomer would.
func TestWhatKubectlShowsInAnOutage(t *testing.T) {
	w := withResponder(t)
	policy := w.policy("storefront", toPage)
	w.start(w.complete(func(o *criticalservice.Options) { o.DiagnoseAfter = 10 * time.Millisecond }))
	web, real := w.armed(policy, "web")
	w.deployment(web, 0, func(d *appsv1.Deployment) { d.Annotations = map[string]string{"downscaler/original-replicas": "2"} })
	till, tillReal := w.up("till", func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	w.Eventually(w.stateOf(policy, till)).Should(Equal("Arming/HeadlessUnsupported"))
	w.fail(web, real)
	w.Eventually(w.stateOf(policy, web)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.causeOf(policy, web)).Should(HavePrefix(criticalv2.CauseScaledToZero))
	w.fail(till, tillReal)
	w.Eventually(w.stateOf(policy, till)).Should(Equal("Exposed/HeadlessUnsupported"))
	w.Eventually(w.causeOf(policy, till)).Should(HavePrefix(criticalv2.CauseNoMatchingPods))
	w.Eventually(w.EventsOf(web, "FallbackPromoted")).Should(HaveLen(1))
	w.Eventually(w.EventsOf(web, criticalv2.CauseScaledToZero)).Should(HaveLen(1))
	w.Eventually(w.EventsOf(till, criticalv2.CauseNoMatchingPods)).Should(HaveLen(1))
	w.Eventually(func() bool {
		events := w.Events(till, "HeadlessUnsupported")
		return len(events) == 1 && events[0].Series != nil
	}).Should(BeTrue(), "reported when it was found, and again when the outage began")
	w.settle()

	kubectl := kubectlOf(w, w.Cluster.Admin)
	for file, args := range map[string][]string{
		"get":                   {"get", "crisvc", policy.Name},
		"get-wide":              {"get", "crisvc", policy.Name, "-o", "wide"},
		"describe":              {"describe", "crisvc", policy.Name},
		"describe-covered":      {"describe", "service", web.Name, "-n", w.Namespace},
		"describe-exposed":      {"describe", "service", till.Name, "-n", w.Namespace},
		"events-of-the-exposed": {"events", "--for", "service/till", "-n", w.Namespace},
		"get-events":            {"get", "events", "-n", w.Namespace, "--field-selector", "involvedObject.kind=Service"},
	} {
		t.Run(file, func(t *testing.T) {
			if strings.HasPrefix(file, "describe-") {
				cluster.Since(t, "1.31", "kubectl that shows the endpoints of all slices")
			}
			g := NewWithT(t)
			got := w.plain(policy.Name, kubectl(args...))
			golden := filepath.Join("testdata", "kubectl", file+".golden.txt")
			if *updateGolden {
				g.Expect(os.MkdirAll(filepath.Dir(golden), 0o755)).To(Succeed())
				g.Expect(os.WriteFile(golden, []byte(got), 0o644)).To(Succeed())
			}
			want, err := os.ReadFile(golden)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(string(want)), "read what has changed; go test ./controllers/criticalservice -run %s -update", "TestWhatKubectlShows")
			g.Expect(got).NotTo(ContainSubstring("unknown>"), "kubectl must be able to say when and who")
		})
	}
}

// kubectlOf runs the kubectl that came with the API server.
func kubectlOf(w *world, config *rest.Config) func(args ...string) string {
	w.T.Helper()
	file := filepath.Join(w.T.TempDir(), "kubeconfig")
	content := clientcmdapi.NewConfig()
	content.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	content.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	content.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "admin"}
	content.CurrentContext = "test"
	w.Expect(clientcmd.WriteToFile(*content, file)).To(Succeed())
	return func(args ...string) string {
		w.T.Helper()
		command := exec.CommandContext(w.T.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), args...)
		command.Env = append(os.Environ(), "KUBECONFIG="+file, "HOME="+w.T.TempDir())
		var complaint bytes.Buffer
		command.Stderr = &complaint
		out, err := command.Output()
		w.Expect(err).NotTo(HaveOccurred(), "kubectl %s: %s", strings.Join(args, " "), complaint.String())
		return string(out)
	}
}

// What is another in every run, and what stands for it.
var chance = []struct {
	found *regexp.Regexp
	by    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-11-20T12:00:00Z"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "00000000-0000-0000-0000-000000000000"},
	{regexp.MustCompile(`(Resource Version:\s+)\d+`), "${1}1"},
	{regexp.MustCompile(`(?m)(^|[a-z(] |\S {2,})\d+[sm](\d+s)?\b`), "${1}5s"},
	{regexp.MustCompile(`(Delay:\s+)5s`), "${1}0s"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "10.0.0.1"},
	{regexp.MustCompile(`(?m)^.*ClusterIP\w*Allocat.*\n`), ""}, // The API server finds its own list of addresses behind.
	{regexp.MustCompile(`(\S) {2,}`), "$1\t"},
}

// plain is an output with nothing in it that chance decides, its columns aligned again.
func (w *world) plain(policy, output string) string {
	output = strings.NewReplacer(policy, "storefront", w.Namespace, "shop").Replace(output)
	for _, part := range chance {
		output = part.found.ReplaceAllString(output, part.by)
	}
	output = inOrder(output)
	var set strings.Builder
	columns := tabwriter.NewWriter(&set, 0, 8, 3, ' ', 0)
	_, err := columns.Write([]byte(output))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(columns.Flush()).To(Succeed())
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(set.String(), "")
}

// inOrder sorts the lines of events: kubectl shows those of one second as
// they come.
func inOrder(output string) string {
	lines := strings.SplitAfter(output, "\n")
	isEvent := func(line string) bool {
		return strings.Contains(line, "Warning\t") || strings.Contains(line, "Normal\t")
	}
	for first := 0; first < len(lines); first++ {
		last := first
		for last < len(lines) && isEvent(lines[last]) {
			last++
		}
		slices.Sort(lines[first:last])
		first = last
	}
	return strings.Join(lines, "")
}
