package make_test

import (
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
			images := []string{command[2] + ":v" + version}
			if strings.Contains(command[0], "bundle") {
				images = append(images, command[2]+"-bundle:v"+version)
			}
			for _, image := range images {
				g.Expect(said).To(ContainSubstring(image), command[0])
			}
		}
	}
}

// The commands run as they are, but that no image is built and pushed. This test needs operator-sdk,
// opm and others in bin/tools: `make test` builds them.
func TestTheCatalogOfAForkIsMadeByThePage(t *testing.T) {
	g := NewWithT(t)
	copied := checkout.New(t, root)
	_, section, found := strings.Cut(copied.Read(t, sdkPage), "\n## A catalog of your own\n")
	g.Expect(found).To(BeTrue())
	section, _, _ = strings.Cut(section, "\n## ")
	steps := regexp.MustCompile("(?:In `([^`]+)`:\n\n)?```(?:sh|yaml)\n((?s:.*?)\n)```\n").FindAllStringSubmatch(section, -1)
	g.Expect(steps).To(HaveLen(4))
	run := func(script string) {
		said, err := copied.Run(t, "bash", "-euc", "export CONTAINER_TOOL=true; "+script)
		g.Expect(err).NotTo(HaveOccurred(), said)
	}
	run(steps[0][2])
	g.Expect(steps[1][1]).To(HavePrefix("catalog/"))
	copied.Write(t, steps[1][1], steps[1][2], 0o600)
	run(steps[2][2])
	validate := func() { run("bin/tools/opm validate catalog") }
	validate()

	const folder = "catalog/critical-service-operator/"
	g.Expect(copied.Read(t, folder+"package.yaml")).To(ContainSubstring("defaultChannel: alpha\n"))
	g.Expect(copied.Read(t, folder+"bundles/v0.0.7.yaml")).To(ContainSubstring("image: registry.example.com/you/operator-bundle:v0.0.7\n"))
	bundle, err := manifests.GetBundleFromDir(copied.Path("bundle"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bundle.CSV.Annotations).To(HaveKeyWithValue("containerImage", "registry.example.com/you/operator:v0.0.7"))

	// The next version.
	copied.Write(t, steps[1][1], steps[1][2]+steps[3][2], 0o600)
	run(strings.ReplaceAll(steps[2][2], "0.0.7", "0.0.8"))
	validate()
	g.Expect(copied.Path(folder + "bundles/v0.0.7.yaml")).To(BeAnExistingFile())
	g.Expect(copied.Path(folder + "bundles/v0.0.8.yaml")).To(BeAnExistingFile())
}
