package make_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"

	"github.com/critical-service/operator/test/internal/checkout"
)

const sdkPage = "docs/operator-sdk.md"

// What the pages say is at least something that make would do, with the names that are given.
func TestTheCommandsOfThePagesArePlanned(t *testing.T) {
	for page, version := range map[string]string{"docs/install.md": "1.0.0", sdkPage: "0.0.7", "docs/workloads.md": "1.0.0"} {
		g := NewWithT(t)
		commands := regexp.MustCompile(`(?m)^make (.* IMAGE_TAG_BASE=(\S+).*)$`).FindAllStringSubmatch(repository().Read(t, page), -1)
		g.Expect(commands).NotTo(BeEmpty(), page)
		for _, command := range commands {
			said, err := planned(t, strings.Fields(command[1])...)
			g.Expect(err).NotTo(HaveOccurred(), said)
			var images []string
			if !strings.Contains(command[0], "catalog") {
				images = append(images, command[2]+":v"+version)
			}
			if regexp.MustCompile(`bundle|catalog`).MatchString(command[0]) {
				images = append(images, command[2]+"-bundle:v"+version)
			}
			for _, image := range images {
				g.Expect(said).To(ContainSubstring(image), command[0])
			}
		}
	}
}

// section is what the page says under a heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(repository().Read(t, sdkPage), "\n## "+heading+"\n")
	NewWithT(t).Expect(found).To(BeTrue(), heading)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// What the targets of the page write is brought back.
func TestThePageRestoresWhatItsTargetsWrite(t *testing.T) {
	g := NewWithT(t)
	command := regexp.MustCompile("`git restore ([^`&]*) && git clean -f catalog`").FindStringSubmatch(section(t, "What is still this project's"))
	g.Expect(command).NotTo(BeNil())
	g.Expect(strings.Fields(command[1])).To(ConsistOf("bundle", "bundle.Dockerfile", "workloads/bundle", "workloads/bundle.Dockerfile", "catalog"))
}

// The commands run as they are, but that no image is built and pushed. This test needs operator-sdk,
// opm and others in bin/tools: `make test` builds them.
func TestTheCatalogOfAForkIsMadeByThePage(t *testing.T) {
	g := NewWithT(t)
	copied := checkout.New(t, root)
	page := section(t, "A catalog of your own")
	steps := regexp.MustCompile("(?:In `([^`]+)`:\n\n)?```(?:sh|yaml)\n((?s:.*?)\n)```\n").FindAllStringSubmatch(page, -1)
	g.Expect(steps).To(HaveLen(4))
	run := func(script string) string {
		said, err := copied.Run(t, "bash", "-euc", "export CONTAINER_TOOL=true; "+script)
		g.Expect(err).NotTo(HaveOccurred(), said)
		return said
	}
	run(steps[0][2])
	g.Expect(steps[1][1]).To(HavePrefix("catalog/"))
	copied.Write(t, steps[1][1], steps[1][2], 0o600)
	g.Expect(run(steps[2][2])).To(ContainSubstring("\ncatalog/critical-service-operator has critical-service-operator.v0.0.7 in alpha (default: alpha), " +
		"as the image registry.example.com/you/operator-bundle:v0.0.7.\n"))
	validate := func() { run("bin/tools/opm validate catalog") }
	validate()

	const folder = "catalog/critical-service-operator/"
	g.Expect(copied.Read(t, folder+"package.yaml")).To(ContainSubstring("defaultChannel: alpha\n"))
	g.Expect(copied.Read(t, folder+"bundles/v0.0.7.yaml")).To(ContainSubstring("image: registry.example.com/you/operator-bundle:v0.0.7\n"))
	bundle, err := manifests.GetBundleFromDir(copied.Path("bundle"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bundle.CSV.Annotations).To(HaveKeyWithValue("containerImage", "registry.example.com/you/operator:v0.0.7"))

	g.Expect(copied.Path("catalog/critical-service-workloads")).NotTo(BeADirectory(), "a package of images that a fork may not have")

	// The second operator, in the same shell.
	exported, _, _ := strings.Cut(steps[2][2], "\n")
	g.Expect(exported).To(HavePrefix("export "))
	copied.Write(t, "catalog/critical-service-workloads/channels.yaml", strings.ReplaceAll(steps[1][2], "critical-service-operator", "critical-service-workloads"), 0o600)
	second := regexp.MustCompile(`(?m)^make -C workloads (bundle|catalog) .*$`).FindAllString(section(t, "The second operator"), -1)
	g.Expect(second).To(HaveLen(2))
	run(exported + "\n" + strings.Join(second, "\n") + "\nmake catalog-build")
	validate()
	g.Expect(copied.Read(t, "catalog/critical-service-workloads/bundles/v0.0.7.yaml")).To(ContainSubstring("image: registry.example.com/you/workloads-bundle:v0.0.7\n"))

	// The next version.
	copied.Write(t, steps[1][1], steps[1][2]+steps[3][2], 0o600)
	run(strings.ReplaceAll(steps[2][2], "0.0.7", "0.0.8"))
	validate()
	g.Expect(copied.Path(folder + "bundles/v0.0.7.yaml")).To(BeAnExistingFile())
	g.Expect(copied.Path(folder + "bundles/v0.0.8.yaml")).To(BeAnExistingFile())

	// An entry that replaces nothing.
	g.Expect(os.Remove(copied.Path(folder + "bundles/v0.0.8.yaml"))).To(Succeed())
	copied.Write(t, steps[1][1], steps[1][2]+"\n- name: critical-service-operator.v0.0.8\n", 0o600)
	said, err := copied.Run(t, "make", "catalog", "IMAGE_TAG_BASE=registry.example.com/you/operator", "VERSION=0.0.8")
	g.Expect(err).To(HaveOccurred())
	g.Expect(said).To(MatchRegexp(`There is no catalog: opm does not accept the channels in .* Correct them:\n(?s:.*)multiple channel heads`))
	g.Expect(copied.Path(folder + "bundles/v0.0.8.yaml")).NotTo(BeAnExistingFile())
}
