// Package make_test holds the Makefile to what users of Operator SDK know: its variables and
// targets have the meaning that they have in a project that `operator-sdk init` makes, or are
// refused with a sentence.
package make_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/critical-service/operator/test/internal/checkout"
)

const root = "../.."

// repository is the repository itself, in which make only says what it would do.
func repository() *checkout.Checkout {
	return &checkout.Checkout{Root: root, Env: checkout.Environment()}
}

// planned is what make would run, or why it refuses.
func planned(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	return repository().Run(t, "make", append([]string{"--dry-run", "CONTAINER_TOOL=docker"}, arguments...)...)
}

// variables are those of the scaffold, by the targets that read them there, and of ours by the
// targets that ought to.
var variables = map[string][]string{
	"IMG": {
		"docker-build", "docker-push", "docker-buildx", "build-installer", "deploy", "undeploy", "bundle", "run-bundle", "release",
	},
	"VERSION": {
		"bundle", "bundle-build", "bundle-push", "catalog", "catalog-build", "catalog-push", "run-bundle", "docker-build", "docker-push",
		"docker-buildx", "build", "binaries", "deploy", "build-installer", "chart", "chart-package", "release", "release-catalog", "plugin-release",
	},
	"CHANNELS":        {"bundle", "run-bundle", "catalog", "release"},
	"DEFAULT_CHANNEL": {"bundle", "run-bundle", "catalog", "release"},
	"IMAGE_TAG_BASE": {
		"bundle", "bundle-build", "bundle-push", "catalog", "catalog-build", "catalog-push", "run-bundle", "docker-build", "docker-push",
		"docker-buildx", "deploy", "build-installer", "scorecard-build", "release", "release-catalog",
	},
	"BUNDLE_IMG":       {"bundle-build", "bundle-push", "catalog", "catalog-build", "run-bundle", "release"},
	"SCORECARD_IMG":    {"bundle", "run-bundle", "scorecard-build"},
	"BUNDLE_IMGS":      {"catalog", "catalog-build", "catalog-push", "release", "release-catalog"},
	"CATALOG_IMG":      {"catalog-build", "catalog-push", "release", "release-catalog"},
	"CATALOG_BASE_IMG": {"catalog", "catalog-build", "release", "release-catalog"},
	"FROM_INDEX_OPT":   {"catalog", "catalog-build"},
	"PLATFORMS":        {"docker-buildx"},
	"ENABLE_WEBHOOKS":  {"run"},
	"WATCH_NAMESPACE":  {"run"},

	"USE_IMAGE_DIGESTS":      {"bundle", "run-bundle"},
	"BUNDLE_GEN_FLAGS":       {"bundle", "run-bundle"},
	"BUNDLE_METADATA_OPTS":   {"bundle", "run-bundle"},
	"BUNDLE_CHANNELS":        {"bundle", "run-bundle"},
	"BUNDLE_DEFAULT_CHANNEL": {"bundle", "run-bundle"},
	"LOCALBIN": {
		"kustomize", "operator-sdk", "setup-envtest", "test", "manifests", "lint", "bundle", "install", "uninstall", "deploy", "undeploy",
	},
	"CONTROLLER_GEN": {
		"controller-gen", "manifests", "generate", "all", "build", "run", "test", "test-e2e", "bundle", "build-installer", "install", "uninstall", "deploy",
	},
	"KUSTOMIZE":                {"kustomize", "bundle", "build-installer", "install", "uninstall", "deploy", "undeploy"},
	"ENVTEST":                  {"setup-envtest", "envtest", "test"},
	"GOLANGCI_LINT":            {"golangci-lint", "lint", "lint-fix", "lint-config"},
	"OPERATOR_SDK":             {"operator-sdk", "bundle", "run-bundle"},
	"OPM":                      {"opm", "catalog", "catalog-build"},
	"KIND":                     {"setup-test-e2e", "test-e2e", "cleanup-test-e2e"},
	"KIND_CLUSTER":             {"setup-test-e2e", "test-e2e", "cleanup-test-e2e"},
	"KUBECTL":                  {"install", "uninstall", "deploy", "undeploy"},
	"CONTAINER_TOOL":           {"docker-build", "docker-push", "docker-buildx", "bundle-build", "bundle-push", "catalog-build", "catalog-push"},
	"OPERATOR_SDK_VERSION":     {"operator-sdk", "bundle"},
	"KUSTOMIZE_VERSION":        {"kustomize", "bundle", "build-installer", "install", "uninstall", "deploy", "undeploy"},
	"CONTROLLER_TOOLS_VERSION": {"controller-gen", "manifests", "generate", "test", "bundle", "build-installer", "install", "uninstall", "deploy"},
	"GOLANGCI_LINT_VERSION":    {"golangci-lint", "lint", "lint-fix", "lint-config"},
	"ENVTEST_VERSION":          {"setup-envtest", "envtest"},
	"ENVTEST_K8S_VERSION":      {"setup-envtest", "envtest", "test"},
}

// values are such as no default has.
var values = map[string]string{
	"IMG": "registry.example.com/surprise/img:v1", "BUNDLE_IMG": "registry.example.com/surprise/bundle:v1",
	"SCORECARD_IMG": "registry.example.com/surprise/scorecard:v1", "CATALOG_IMG": "registry.example.com/surprise/catalog:v1", "USE_IMAGE_DIGESTS": "true", "VERSION": "9.8.7", "CHANNELS": "surprise,wonder", "DEFAULT_CHANNEL": "surprise", "PLATFORMS": "linux/s390x,linux/amd64",
}

func TestAVariableOfTheScaffoldIsNeverIgnored(t *testing.T) {
	refusal := regexp.MustCompile(`(?m)^\S+:\d+: \*\*\* ([A-Z0-9_ ]+): not supported, because .+\.  Stop\.$`)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value, isKnown := values[name]
		if !isKnown {
			value = "registry.example.com/surprise/" + strings.ToLower(name)
		}
		for _, target := range variables[name] {
			t.Run(target+" "+name, func(t *testing.T) {
				g := NewWithT(t)
				said, err := planned(t, target, name+"="+value)
				if err != nil {
					g.Expect(refusal.FindStringSubmatch(said)).To(HaveExactElements(Not(BeEmpty()), Equal(name)), said)
					return
				}
				g.Expect(said).To(ContainSubstring(value), "make %s ignores %s", target, name)
			})
		}
	}
}

// Without a tag, one tool would take :latest, and the manifests have another.
func TestAnImageIsNamedWithItsTag(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for sentence, c := range map[string]struct {
		image string
		valid bool
	}{
		"a tag":                          {"registry.example.com/you/operator:v1.0.0", true},
		"a tag, without a registry":      {"controller:latest", true},
		"a port and a tag":               {"localhost:5000/operator:v1.0.0", true},
		"a digest":                       {"registry.example.com/you/operator" + digest, true},
		"both":                           {"registry.example.com/you/operator:v1.0.0" + digest, true},
		"neither":                        {"registry.example.com/you/operator", false},
		"a port, which is no tag":        {"localhost:5000/operator", false},
		"two tags":                       {"registry.example.com/you/operator:v1:v1.0.0", false},
		"no name, as of an unset prefix": {":v1.0.0", false},
		"a name that ends in a slash":    {"registry.example.com/you/operator/:v1.0.0", false},
		"capital letters":                {"registry.example.com/You/operator:v1.0.0", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			for _, target := range []string{"docker-push", "bundle", "deploy"} {
				g := NewWithT(t)
				said, err := planned(t, target, "IMG="+c.image)
				if c.valid {
					g.Expect(err).NotTo(HaveOccurred(), said)
					continue
				}
				g.Expect(err).To(HaveOccurred())
				g.Expect(said).To(ContainSubstring("IMG is '" + c.image + "', and must be an image in lower case with its tag or digest"))
			}
		})
	}
}

func TestABundleIsBuiltAsItWasMade(t *testing.T) {
	for sentence, c := range map[string]struct{ given, says string }{
		"of another version": {"VERSION=0.0.7", "bundle/ is not of version 0.0.7: run 'make bundle' with the same variables first."},
		"of another image": {
			"IMG=registry.example.com/me/op:v1", "bundle/ does not install the image registry.example.com/me/op:v1: run 'make bundle' with the same",
		},
		"of other images": {
			"IMAGE_TAG_BASE=registry.example.com/me/op", "bundle/ does not install the image registry.example.com/me/op:v1.0.0: run 'make bundle'",
		},
		"of its image, given":  {"IMG=quay.io/critical-service/operator:v1.0.0", ""},
		"under any other name": {"BUNDLE_IMG=registry.example.com/me/op-bundle:v1", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			said, err := repository().Run(t, "make", "bundle-build", "CONTAINER_TOOL=true", c.given)
			g.Expect(said).To(ContainSubstring(c.says))
			g.Expect(err != nil).To(Equal(c.says != ""), said)
		})
	}
}

// In an environment they mean the same, as in CI systems.
func TestAVariableOfTheEnvironmentCounts(t *testing.T) {
	g := NewWithT(t)
	c := repository()
	c.Env = append(c.Env, "IMG=registry.example.com/me/op:v0.0.7", "VERSION=0.0.7")
	said, err := c.Run(t, "make", "--dry-run", "bundle")
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(said).To(And(ContainSubstring("--version 0.0.7"), ContainSubstring("--image registry.example.com/me/op:v0.0.7")))
}

// operator-sdk's own Makefile has it there.
func TestDigestsMayBeAskedForInTheMakefile(t *testing.T) {
	g := NewWithT(t)
	copied := checkout.New(t, root)
	copied.Write(t, "Makefile", "USE_IMAGE_DIGESTS ?= true\n"+copied.Read(t, "Makefile"), 0o644)
	said, err := copied.Run(t, "make", "--dry-run", "bundle")
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(said).To(ContainSubstring("USE_IMAGE_DIGESTS=true "))
}

func TestWhatVariablesMean(t *testing.T) {
	for sentence, c := range map[string]struct {
		arguments []string
		says      []string
	}{
		"without any, the bundle is that of the release": {
			[]string{"bundle"},
			[]string{"--image quay.io/critical-service/operator:v1.0.0 ", "--scorecard-image quay.io/critical-service/operator-scorecard:v1.0.0 "},
		},
		"what is built is what the bundle installs, by VERSION alone as well": {
			[]string{"docker-build", "bundle", "VERSION=0.0.7"},
			[]string{"--tag quay.io/critical-service/operator:v0.0.7 ", "--image quay.io/critical-service/operator:v0.0.7 "},
		},
		"IMG is the image of the bundle, too": {
			[]string{"bundle", "IMG=registry.example.com/me/op:v0.0.7"}, []string{"--image registry.example.com/me/op:v0.0.7 "},
		},
		"a fork's images begin with IMAGE_TAG_BASE": {
			[]string{
				"docker-build", "docker-push", "bundle", "bundle-build", "bundle-push", "catalog", "catalog-push", "scorecard-build",
				"IMAGE_TAG_BASE=registry.example.com/me/op", "VERSION=0.0.7",
			},
			[]string{
				"--tag registry.example.com/me/op:v0.0.7 ", "push registry.example.com/me/op:v0.0.7\n",
				"--image registry.example.com/me/op:v0.0.7 ", "--scorecard-image registry.example.com/me/op-scorecard:v0.0.7 ",
				"--tag registry.example.com/me/op-bundle:v0.0.7 ", "push registry.example.com/me/op-bundle:v0.0.7\n",
				"--bundle-image registry.example.com/me/op-bundle:v0.0.7 ", "push registry.example.com/me/op-catalog:v0.0.7\n",
				"--tag registry.example.com/me/op-scorecard:v0.0.7 ",
			},
		},
		"what is built is what the bundle installs, without a VERSION as well": {
			[]string{"docker-build", "bundle", "IMAGE_TAG_BASE=registry.example.com/me/op"},
			[]string{"--tag registry.example.com/me/op:v1.0.0 ", "--image registry.example.com/me/op:v1.0.0 "},
		},
		"vX.Y.Z is the VERSION X.Y.Z": {
			[]string{"bundle", "bundle-build", "VERSION=v0.0.7"}, []string{"--version 0.0.7 ", "operator-bundle:v0.0.7 "},
		},
		"the VERSION of a binary has its v": {
			[]string{"build", "VERSION=0.0.7"}, []string{"version.Version=v0.0.7 "},
		},
		"and one that is a word is as it was given": {
			[]string{"binaries", "VERSION=e2e-next"}, []string{"version.Version=e2e-next "},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			said, err := planned(t, c.arguments...)
			g.Expect(err).NotTo(HaveOccurred(), said)
			for _, words := range c.says {
				g.Expect(said + "\n").To(ContainSubstring(words))
			}
		})
	}
}

// Tutorials of Operator SDK begin with edits of the Makefile.
func TestAnEditOfTheMakefileCounts(t *testing.T) {
	targets := []string{"--dry-run", "CONTAINER_TOOL=docker", "docker-build", "bundle", "run-bundle", "bundle-build", "catalog", "catalog-build"}
	for sentence, c := range map[string]struct{ edits, images []string }{
		"of the names": {
			[]string{`s|^IMAGE_TAG_BASE ?=.*|IMAGE_TAG_BASE ?= registry.example.com/me/op|`},
			[]string{"registry.example.com/me/op:v1.0.0", "registry.example.com/me/op-bundle:v1.0.0"},
		},
		"of the version": {
			[]string{`s|^VERSION ?=.*|VERSION ?= 0.0.7|`},
			[]string{"quay.io/critical-service/operator:v0.0.7", "quay.io/critical-service/operator-bundle:v0.0.7"},
		},
		"of the image": {
			[]string{`s|^IMAGE_TAG_BASE ?=.*|IMAGE_TAG_BASE ?= registry.example.com/me/op|`, `s|^IMG ?=.*|IMG ?= registry.example.com/you/manager:dev|`},
			[]string{"registry.example.com/you/manager:dev", "registry.example.com/me/op-bundle:v1.0.0"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			copied := checkout.New(t, root)
			for _, edit := range c.edits {
				said, err := copied.Run(t, "sed", "-i.orig", edit, "Makefile")
				g.Expect(err).NotTo(HaveOccurred(), said)
			}
			said, err := copied.Run(t, "make", targets...)
			g.Expect(err).NotTo(HaveOccurred(), said)
			found := regexp.MustCompile(`(?:--tag |--image |--bundle-image | IMG=| BUNDLE_IMG=|\bimage=')([^ ;']+)`).FindAllStringSubmatch(said, -1)
			g.Expect(len(found)).To(BeNumerically(">", 6), said)
			for _, image := range found {
				g.Expect(image[1]).To(BeElementOf(append(c.images, strings.Replace(c.images[1], "-bundle:", "-catalog:", 1))), said)
			}
			for _, image := range c.images {
				g.Expect(strings.Count(said, image)).To(BeNumerically(">=", 3), "%s in\n%s", image, said)
			}
		})
	}
}

// They are those of releases, and a login may be at hand that may push them.
func TestNamesOfTheProjectAreNotPushed(t *testing.T) {
	copied := checkout.New(t, root)
	for folder, project := range map[string]struct {
		image   string
		targets []string
	}{
		".":         {"operator", []string{"docker-push", "docker-buildx", "bundle-push", "catalog-push"}},
		"workloads": {"workloads", []string{"docker-push", "bundle-push"}},
	} {
		for _, target := range project.targets {
			g := NewWithT(t)
			said, err := copied.Run(t, "make", "--directory="+folder, target, "CONTAINER_TOOL=false")
			g.Expect(err).To(HaveOccurred())
			g.Expect(said).To(MatchRegexp(`quay.io/critical-service/` + project.image + `\S* is a name of the project, .* give IMAGE_TAG_BASE.\n`))
			said, err = copied.Run(t, "make", "--directory="+folder, target, "CONTAINER_TOOL=true", "IMAGE_TAG_BASE=registry.example.com/me/op")
			g.Expect(err).NotTo(HaveOccurred(), said)
		}
	}
}

// They are released together.
func TestBothOperatorsHaveTheVersionOfTheMakefile(t *testing.T) {
	g := NewWithT(t)
	copied := checkout.New(t, root)
	said, err := copied.Run(t, "sed", "-i.orig", "s|^VERSION ?=.*|VERSION ?= 0.0.7|", "Makefile")
	g.Expect(err).NotTo(HaveOccurred(), said)
	said, err = copied.Run(t, "make", "--dry-run", "--directory=workloads", "docker-build", "bundle", "CONTAINER_TOOL=docker")
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(said).To(And(
		ContainSubstring("--tag quay.io/critical-service/workloads:v0.0.7 "), ContainSubstring("--version 0.0.7 --image quay.io/critical-service/workloads:v0.0.7 "),
	))
}

// These are bundles as the tutorials of Operator SDK make them.
func TestMakeBundleOfATutorial(t *testing.T) {
	for sentence, c := range map[string]struct {
		arguments            []string
		version, image       string
		channels             []string
		defaultChannel, says string
	}{
		"with every variable": {
			arguments: []string{"IMG=registry.example.com/me/op:v0.0.7", "VERSION=0.0.7", "CHANNELS=alpha,beta", "DEFAULT_CHANNEL=beta"},
			version:   "0.0.7", image: "registry.example.com/me/op:v0.0.7", channels: []string{"alpha", "beta"}, defaultChannel: "beta",
			says: "Its scorecard tests are the project's, of quay.io/critical-service/operator-scorecard:v0.0.7: for your own, give SCORECARD_IMG or IMAGE_TAG_BASE.",
		},
		"the first of CHANNELS is the default": {
			arguments: []string{"IMAGE_TAG_BASE=registry.example.com/me/op", "VERSION=0.0.7", "CHANNELS=alpha,beta"},
			version:   "0.0.7", image: "registry.example.com/me/op:v0.0.7", channels: []string{"alpha", "beta"}, defaultChannel: "alpha",
		},
		"of the project's channels, stable-v1 is the default": {
			arguments: []string{"VERSION=1.0.0", "CHANNELS=candidate-v1"},
			version:   "1.0.0", image: "quay.io/critical-service/operator:v1.0.0", channels: []string{"candidate-v1"}, defaultChannel: "stable-v1",
		},
		"a version that no channel has needs CHANNELS": {
			arguments: []string{"VERSION=0.0.7"}, says: "has no entry of critical-service-operator.v0.0.7.\n" +
				"For a catalog of your own: give CHANNELS as well, for example CHANNELS=alpha.\n",
		},
		"commas are between channels": {
			arguments: []string{"VERSION=0.0.7", "CHANNELS=alpha beta"}, says: "There is no bundle: CHANNELS is 'alpha beta', and must be names with commas between them.\n",
		},
		"the default is a channel": {
			arguments: []string{"VERSION=0.0.7", "CHANNELS=alpha", "DEFAULT_CHANNEL=stable"}, says: "There is no bundle: DEFAULT_CHANNEL is stable, which is neither one of alpha nor ",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			copied := checkout.New(t, root)
			said, err := copied.Run(t, "make", append([]string{"bundle"}, c.arguments...)...)
			g.Expect(said).To(ContainSubstring(c.says))
			if c.version == "" {
				g.Expect(err).To(HaveOccurred())
				return
			}
			g.Expect(err).NotTo(HaveOccurred(), said)
			g.Expect(said).NotTo(ContainSubstring("level="))
			g.Expect(said).To(ContainSubstring("bundle is critical-service-operator.v" + c.version + " in " + strings.Join(c.channels, ", ")))
			bundle, err := manifests.GetBundleFromDir(copied.Path("bundle"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bundle.CSV.Name).To(Equal("critical-service-operator.v" + c.version))
			g.Expect(bundle.CSV.Spec.Version.String()).To(Equal(c.version))
			g.Expect(bundle.CSV.Spec.RelatedImages).To(ConsistOf(v1alpha1.RelatedImage{Name: "manager", Image: c.image}))
			g.Expect(bundle.CSV.Annotations).To(HaveKeyWithValue("containerImage", c.image))
			g.Expect(bundle.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Image).To(Equal(c.image))
			g.Expect(bundle.Channels).To(ConsistOf(c.channels))
			g.Expect(bundle.DefaultChannel).To(Equal(c.defaultChannel))
			g.Expect(copied.Read(t, "bundle.Dockerfile")).To(ContainSubstring("channels.v1=" + strings.Join(c.channels, ",") + "\n"))
		})
	}
}
