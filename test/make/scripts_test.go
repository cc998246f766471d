package make_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"

	"github.com/critical-service/operator/test/internal/checkout"
)

// stub is a program that writes down how it was run, and answers what a script needs.
const stub = `#!/usr/bin/env bash
printf '%s %s\n' "${0##*/}" "$*" >> "$CALLS"
case "${0##*/} $*" in
'devcluster kubeconfig') [[ ! ${STOPPED:-} ]] && echo "$PWD/kubeconfig-of-the-devcluster" ;;
'kubectl --namespace critical-service-trial get subscriptions'*) echo "${TRIAL:-}" ;;
'kubectl config current-context') echo far-away ;;
'kubectl get nodes'*architecture*) echo amd64 ;;
'kubectl get pods'*) echo "${RUNNING:-}" ;;
'kubectl get customresourcedefinitions --output name') echo customresourcedefinition.apiextensions.k8s.io/criticalservices.mycrd.com ;;
"docker push ${REFUSED:-}") exit 1 ;;
esac
`

// stage is a copy in which a script meets stubs of all that would build something, or use a
// cluster.
type stage struct {
	*checkout.Checkout
	calls string
}

func newStage(t *testing.T, environment ...string) *stage {
	t.Helper()
	g := NewWithT(t)
	s := &stage{Checkout: checkout.New(t, root)}
	s.calls = s.Path("calls")
	for _, program := range []string{"stubs/make", "stubs/kubectl", "stubs/docker", "stubs/buildah", "bin/devcluster"} {
		s.Write(t, program, stub, 0o755)
	}
	tools, err := os.Readlink(s.Path("bin/tools"))
	g.Expect(err).NotTo(HaveOccurred())
	s.Env = append(s.Env, "CALLS="+s.calls, "PATH="+s.Path("stubs")+":"+os.Getenv("PATH"), "TOOLS="+tools)
	s.Env = append(s.Env, environment...)
	return s
}

// called are the calls that begin with one of some programs.
func (s *stage) called(t *testing.T, programs ...string) []string {
	t.Helper()
	var found []string
	for call := range strings.Lines(s.Read(t, "calls")) {
		for _, program := range programs {
			if strings.HasPrefix(call, program+" ") {
				found = append(found, strings.TrimSpace(call))
			}
		}
	}
	return found
}

var fork = []string{
	"VERSION=0.0.7", "IMG=registry.example.com/me/op:v0.0.7", "BUNDLE_IMG=registry.example.com/me/op-bundle:v0.0.7",
	"SCORECARD_IMG=registry.example.com/me/op-scorecard:v0.0.7", "CHANNELS=alpha",
}

// These tests need operator-sdk and kustomize in bin/tools: `make test` builds them.
func TestABundleOfAForkRunsOnTheDevcluster(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, fork...)
	said, err := s.Run(t, "hack/run-bundle.sh", "up", "--skip-tls")
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(s.called(t, "devcluster", "make", "docker")).To(HaveExactElements(
		"devcluster up", "devcluster kubeconfig", "devcluster olm up",
		"make --no-print-directory binaries ARCH=amd64 VERSION=v0.0.7",
		"devcluster image build --tag registry.example.com/me/op:v0.0.7 --target prebuilt --build-arg BASE=scratch --build-arg VERSION=v0.0.7 .",
		"devcluster image build --tag registry.example.com/me/op-bundle:v0.0.7 --file bin/run-bundle/bundle/bundle.Dockerfile bin/run-bundle/bundle",
		"devcluster with-registry -- "+s.Root+"/bin/tools/operator-sdk run bundle registry.example.com/me/op-bundle:v0.0.7 --namespace critical-service-trial --timeout 6m --skip-tls",
	))
	bundle, err := manifests.GetBundleFromDir(s.Path("bin/run-bundle/bundle"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bundle.CSV.Name).To(Equal("critical-service-operator.v0.0.7"))
	g.Expect(bundle.CSV.Annotations).To(HaveKeyWithValue("containerImage", "registry.example.com/me/op:v0.0.7"))
	g.Expect(bundle.Channels).To(ConsistOf("alpha"))
	g.Expect(s.Read(t, "bundle/metadata/annotations.yaml")).To(ContainSubstring("stable-v1"), "the bundle of the repository stays")
}

// ownKubeconfig is what the devcluster writes, and what its users export.
const ownKubeconfig = "kubeconfig-of-the-devcluster"

func TestTheDevclusterIsKnownByItsKubeconfig(t *testing.T) {
	for script, c := range map[string]struct{ verb, calls string }{
		"hack/run-bundle.sh": {"up", "devcluster image build"}, "hack/demo.sh": {"down", "devcluster down"},
	} {
		t.Run(script, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, append([]string{"KUBECONFIG=" + ownKubeconfig}, fork...)...)
			s.Write(t, ownKubeconfig, "", 0o600)
			said, err := s.Run(t, script, c.verb)
			g.Expect(err).NotTo(HaveOccurred(), said)
			g.Expect(said).NotTo(ContainSubstring("far-away"))
			g.Expect(s.called(t, "docker", "buildah")).To(BeEmpty(), "no other registry is needed")
			g.Expect(s.called(t, "devcluster")).To(ContainElement(HavePrefix(c.calls)))
		})
	}
}

// These see a trial that run-bundle installed.
const trial = "TRIAL=catalogsource.operators.coreos.com/critical-service-operator-catalog"

func TestABundleIsRemovedInTheOrderOfTheDocuments(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, trial)
	said, err := s.Run(t, "hack/run-bundle.sh", "down")
	g.Expect(err).NotTo(HaveOccurred(), said)
	calls := s.called(t, "devcluster with-registry", "kubectl delete", "kubectl --namespace kube-system")
	g.Expect(calls).To(HaveExactElements(
		MatchRegexp(`^kubectl delete (\w+,)*maintenances,servicefallbacks(,\w+)* --all --all-namespaces$`),
		"kubectl delete criticalservices --all",
		HaveSuffix("operator-sdk cleanup critical-service-operator --namespace critical-service-trial --timeout 6m"),
		"kubectl delete namespace critical-service-trial --ignore-not-found",
		"kubectl delete operators.operators.coreos.com critical-service-operator.critical-service-trial --ignore-not-found",
		"kubectl delete clusterroles --selector olm.owner.kind=OperatorGroup,olm.owner.namespace=critical-service-trial",
		"kubectl --namespace kube-system delete rolebinding critical-service-operator-service-auth-reader --ignore-not-found",
	))
	page := s.Read(t, "docs/install.md")
	for _, named := range []string{
		"kubectl delete crisvc --all", "operator-sdk cleanup critical-service-operator --namespace critical-service-trial",
		"delete rolebinding critical-service-operator-service-auth-reader", "kubectl delete namespace critical-service-trial",
		"kubectl delete operators.operators.coreos.com critical-service-operator.critical-service-trial",
		"kubectl delete clusterroles -l olm.owner.kind=OperatorGroup,olm.owner.namespace=critical-service-trial",
	} {
		g.Expect(page).To(ContainSubstring(named))
	}
	// It waits for what the page has users wait for.
	waits := regexp.MustCompile(`(?m)^kubectl get (\S+) -A (?:-l|--field-selector) (\S+)$`).FindAllStringSubmatch(page, -1)
	g.Expect(waits).To(HaveLen(3))
	for _, wait := range waits {
		g.Expect(s.called(t, "kubectl get "+wait[1])).To(ContainElement(ContainSubstring(wait[2])))
	}
}

// With the operator go all objects of its kinds, and they may be those of others.
func TestABundleIsNotRemoved(t *testing.T) {
	for sentence, c := range map[string]struct {
		environment []string
		says        string
	}{
		"where run-bundle has installed none": {
			[]string{"KUBECONFIG=far-away"}, "'make run-bundle' has installed nothing in the cluster of context far-away",
		},
		"where the operator runs in another namespace as well": {
			[]string{"KUBECONFIG=far-away", trial, "RUNNING=critical-service-trial\nshop"}, "the operator runs in namespace shop as well",
		},
		"from a devcluster that does not run": {
			[]string{trial, "STOPPED=1"}, "the devcluster does not run",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, c.environment...)
			said, err := s.Run(t, "hack/run-bundle.sh", "down")
			g.Expect(err).To(HaveOccurred())
			g.Expect(said).To(ContainSubstring(c.says))
			g.Expect(said + s.Read(t, "calls")).NotTo(Or(ContainSubstring("delete"), ContainSubstring("cleanup"), ContainSubstring("devcluster up")))
		})
	}
}

func TestABundleDoesNotRun(t *testing.T) {
	for sentence, c := range map[string]struct {
		environment []string
		says        string
	}{
		"where the operator runs already": {
			append([]string{"RUNNING=critical-service-system"}, fork...), "error: the operator runs already, in namespace critical-service-system. Remove it first",
		},
		"on a cluster that cannot have the project's images": {
			append([]string{"KUBECONFIG=far-away"}, append(slices.Clone(fork), "IMG=quay.io/critical-service/operator:v1.0.0")...),
			"/far-away make run-bundle IMAGE_TAG_BASE=registry.example.com/you/operator",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, c.environment...)
			said, err := s.Run(t, "hack/run-bundle.sh", "up")
			g.Expect(err).To(HaveOccurred())
			g.Expect(said).To(ContainSubstring(c.says))
			g.Expect(s.called(t, "make", "devcluster image")).To(BeEmpty(), "nothing is built")
		})
	}
}

func TestNoClusterIsStartedForABundleThatIsRefused(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, append(slices.Clone(fork), "CHANNELS=alpha beta")...)
	said, err := s.Run(t, "hack/run-bundle.sh", "up")
	g.Expect(err).To(HaveOccurred())
	g.Expect(said).To(ContainSubstring("There is no bundle: CHANNELS is 'alpha beta'"))
	g.Expect(s.Path("calls")).NotTo(BeAnExistingFile(), "nothing was run")
}

func TestWhoMayNotPushIsAskedForNames(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, append([]string{"KUBECONFIG=far-away", "CONTAINER_TOOL=docker", "REFUSED=registry.example.com/me/op:v0.0.7"}, fork...)...)
	said, err := s.Run(t, "hack/run-bundle.sh", "up")
	g.Expect(err).To(HaveOccurred())
	g.Expect(said).To(MatchRegexp(`cannot push registry.example.com/me/op:v0.0.7\.\n.*\n  KUBECONFIG=/.*/far-away make run-bundle IMAGE_TAG_BASE=`))
}

// What the demo and the end-to-end tests deliver follows from the content, under the name of the fork.
func TestTheDemoHasTheImagesOfAFork(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, "IMAGE_TAG_BASE=registry.example.com/me/op")
	for _, binary := range []string{"manager", "responder", "workload"} {
		s.Write(t, "bin/linux-amd64/"+binary, binary, 0o755)
	}
	said, err := s.Run(t, "bash", "-euc", "source hack/cluster.sh; use_cluster; deliver_images")
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(s.called(t, "devcluster image build")).To(ContainElement(MatchRegexp(`--tag registry\.example\.com/me/op:dev-[0-9a-f]{12} `)))
}

// The demo replaces the operator of a cluster, and deletes its definitions with all that they define.
func TestTheDemoLeavesAnOperatorInUse(t *testing.T) {
	for sentence, c := range map[string]struct{ kubectl, verb, says string }{
		"that it did not install": {
			`case $* in *"get namespace critical-service-demo"*) exit 1;; esac`, "up", "is installed in the cluster of context",
		},
		"that protects more than its shop": {
			`case $* in *get\ criticalservices*) printf "%s\n" "CriticalService /shop" "Maintenance critical-service-demo/web" "ServiceFallback shop/web";; esac`,
			"down", "would be deleted with the operator:\nServiceFallback shop/web\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, "KUBECONFIG=one-of-theirs")
			s.Write(t, "stubs/kubectl", "#!/usr/bin/env bash\necho \"kubectl $*\" >> \"$CALLS\"\n"+c.kubectl+"\n", 0o755)
			said, err := s.Run(t, "hack/demo.sh", c.verb)
			g.Expect(err).To(HaveOccurred())
			g.Expect(said).To(ContainSubstring(c.says))
			g.Expect(s.called(t, "kubectl delete", "kubectl apply", "make")).To(BeEmpty(), "nothing is changed")
		})
	}
}

func TestAnImageForSeveralPlatforms(t *testing.T) {
	const image, platforms = "registry.example.com/me/op:v0.0.7", "linux/amd64,linux/arm64"
	for sentence, c := range map[string]struct {
		environment, calls []string
	}{
		"docker has a builder of its own for it": {
			[]string{"CONTAINER_TOOL=docker"},
			[]string{
				"docker buildx create --name critical-service-operator",
				"docker buildx build --builder critical-service-operator --push --platform " + platforms + " --tag " + image + " --build-arg VERSION=v0.0.7 .",
				"docker buildx rm critical-service-operator",
			},
		},
		"buildah makes an index and pushes all of it": {
			[]string{"CONTAINER_TOOL=buildah"},
			[]string{
				"buildah manifest rm " + image,
				"buildah build --platform " + platforms + " --manifest " + image + " --build-arg VERSION=v0.0.7 .",
				"buildah manifest push --all " + image + " docker://" + image,
			},
		},
		"binaries are compiled here for each": {
			[]string{"CONTAINER_TOOL=buildah", "PREBUILT=1"},
			[]string{
				"make --no-print-directory binaries ARCH=amd64", "make --no-print-directory binaries ARCH=arm64",
				"buildah manifest rm " + image,
				"buildah build --platform " + platforms + " --manifest " + image + " --build-arg VERSION=v0.0.7 .",
				"buildah manifest push --all " + image + " docker://" + image,
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, c.environment...)
			said, err := s.Run(t, "hack/buildx.sh", image, platforms, "--build-arg", "VERSION=v0.0.7")
			g.Expect(err).NotTo(HaveOccurred(), said)
			g.Expect(s.called(t, "docker", "buildah", "make")).To(Equal(c.calls))
		})
	}
}
