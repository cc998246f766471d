package catalog_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	operatorImage = "quay.io/critical-service/operator:v1.1.0"
	catalogImage  = "quay.io/critical-service/operator-catalog:v1.1.0"
	latestImage   = "quay.io/critical-service/operator-catalog:latest"
	channels      = "catalog/" + packageName + "/channels.yaml"
	// The channels of the catalog that is published as the latest.
	latestChannels = "configs/" + packageName + "/channels.yaml"
	// And those of the other package there.
	latestSibling = "configs/critical-service-workloads/channels.yaml"
)

var (
	digest = "sha256:" + strings.Repeat("a", 64)
	other  = "sha256:" + strings.Repeat("b", 64)
)

// A registry is a folder with a file per image, which has its digest. What is pushed gets the digest PUSHED.
const craneStub = `#!/bin/sh
echo "crane $*" >> log
case $1 in
digest)
  [ ! -e registry/down ] || { echo "Error: connection refused" >&2; exit 1; }
  cat "registry/$(basename "$2")" 2>/dev/null || { echo "Error: MANIFEST_UNKNOWN: manifest unknown" >&2; exit 1; } ;;
push) printf %s "${PUSHED}" > "registry/$(basename "$3")" ;;
export) tar --create --directory latest configs ;;
esac
`

const pushChartStub = `#!/bin/sh
echo "push-chart $*" >> log
`

const signStub = `#!/bin/sh
echo "sign $*" >> log
`

const ghStub = `#!/bin/sh
echo "gh $*" >> log
[ "$2" = create ] || exit 1
sed 's/^/notes: /' >> log
`

// publish runs hack/publish.sh of v1.1.0, and is what it said and which commands it ran. registry has the digests of
// what is published already.
func publish(t *testing.T, dist, registry map[string]string, pushed string, arguments ...string) (said string, ran []string) {
	g := NewWithT(t)
	folder := t.TempDir()
	script, err := os.ReadFile("../../hack/publish.sh")
	g.Expect(err).NotTo(HaveOccurred())
	files := map[string]string{
		"hack/publish.sh": string(script), "tools/crane": craneStub, "path/gh": ghStub, "hack/push-chart.sh": pushChartStub, "hack/sign.sh": signStub, "registry/any": "",
		"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n- not yet\n\n## [1.1.0] - 2026-12-01\n- new\n\n## [1.0.0]\n- old\n",
	}
	sums := ""
	for name, content := range dist {
		files["dist/"+name] = content
		sums += fmt.Sprintf("%x  ./%s\n", sha256.Sum256([]byte(content)), name)
	}
	if len(dist) > 0 {
		files["dist/kubectl-critsvc_linux_amd64.tar.gz"] = "plugin"
		files["dist/sbom/manager.cdx.json"] = "{}"
		if _, isGiven := dist["SHA256SUMS"]; !isGiven {
			files["dist/SHA256SUMS"] = sums
		}
	}
	for image, present := range registry {
		if strings.HasPrefix(image, "configs/") {
			files["latest/"+image] = present
		} else {
			files["registry/"+filepath.Base(image)] = present
		}
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(content), 0o755)).To(Succeed())
	}
	command := exec.CommandContext(t.Context(), "hack/publish.sh", arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "TOOLS="+filepath.Join(folder, "tools"), "PUSHED="+pushed,
		"PATH="+filepath.Join(folder, "path")+":"+os.Getenv("PATH"))
	output, err := command.CombinedOutput()
	if !strings.Contains(string(output), "Not published:") {
		g.Expect(err).NotTo(HaveOccurred(), string(output))
	}
	log, err := os.ReadFile(filepath.Join(folder, "log"))
	if !os.IsNotExist(err) {
		g.Expect(err).NotTo(HaveOccurred())
	}
	for line := range strings.Lines(string(log)) {
		if !strings.HasPrefix(line, "crane digest ") && !strings.HasPrefix(line, "crane export ") {
			ran = append(ran, strings.TrimSpace(line))
		}
	}
	return string(output), ran
}

// released is the dist/ of v1.1.0.
func released() map[string]string {
	return map[string]string{
		"images.txt":   operatorImage + "@" + digest + "\n" + catalogImage + "@" + digest + "\n",
		"install.yaml": "kind: Namespace",
		channels:       withVersions("v1.0.0", "v1.1.0"),
	}
}

// withVersions is the file of a channel with these versions.
func withVersions(versions ...string) string {
	text := "schema: olm.channel\nentries:\n"
	for _, version := range versions {
		text += "- name: " + packageName + "." + version + "\n"
	}
	return text
}

const (
	operatorChart  = "push-chart dist/critical-service-operator-1.1.0.tgz quay.io/critical-service"
	workloadsChart = "push-chart dist/critical-service-workloads-1.1.0.tgz quay.io/critical-service"
	signatures     = "sign v1.1.0 quay.io/critical-service"
)

const page = "gh release create v1.1.0 --verify-tag --title v1.1.0 --notes-file - dist/install.yaml dist/install-workloads.yaml " +
	"dist/critical-service-operator-1.1.0.tgz dist/critical-service-workloads-1.1.0.tgz dist/kubectl-critsvc_linux_amd64.tar.gz dist/critsvc.yaml dist/sbom/manager.cdx.json dist/images.txt dist/provenance.json dist/SHA256SUMS dist/SHA256SUMS.sigstore.json"

func TestAReleaseIsPublished(t *testing.T) {
	g := NewWithT(t)
	_, ran := publish(t, released(), nil, digest, "v1.1.0")
	g.Expect(ran).To(Equal([]string{
		"crane push dist/images/operator " + operatorImage,
		"crane push dist/images/operator-catalog " + latestImage,
		"crane push dist/images/operator-catalog " + catalogImage,
		operatorChart, workloadsChart, signatures,
		"gh release view v1.1.0",
		page, "notes: - new", "notes:",
	}))
}

func TestAReleaseThatWasInterruptedGoesOn(t *testing.T) {
	g := NewWithT(t)
	_, ran := publish(t, released(), map[string]string{operatorImage: digest}, digest, "v1.1.0")
	g.Expect(ran).To(HaveExactElements(
		"crane push dist/images/operator-catalog "+latestImage, "crane push dist/images/operator-catalog "+catalogImage,
		operatorChart, workloadsChart, signatures, "gh release view v1.1.0", page, "notes: - new", "notes:"))
}

func TestTheCatalogAloneIsPublishedWithoutAPage(t *testing.T) {
	g := NewWithT(t)
	image := "quay.io/critical-service/operator-catalog:v1.1.0-stable"
	_, ran := publish(t, map[string]string{"images.txt": image + "@" + digest + "\n"}, nil, digest, "v1.1.0-stable")
	g.Expect(ran).To(Equal([]string{"crane push dist/images/operator-catalog " + latestImage, "crane push dist/images/operator-catalog " + image, "sign v1.1.0-stable quay.io/critical-service"}))
}

func TestTheLatestCatalogLosesNoVersion(t *testing.T) {
	moves := "crane push dist/images/operator-catalog " + latestImage
	tests := map[string]struct {
		registry map[string]string
		moves    bool
		said     string
	}{
		"there is none yet": {moves: true},
		"this one has one version more": {
			registry: map[string]string{latestImage: other, latestChannels: withVersions("v1.0.0")}, moves: true,
		},
		"this one has the same versions, in other channels": {
			registry: map[string]string{latestImage: other, latestChannels: withVersions("v1.1.0", "v1.0.0", "v1.0.0")}, moves: true,
		},
		"the publication was interrupted before its last step": {
			registry: map[string]string{operatorImage: digest, latestImage: digest, latestChannels: withVersions("v1.0.0", "v1.1.0")}, moves: true,
		},
		"this one is of an earlier minor version, which has no later one": {
			registry: map[string]string{latestImage: other, latestChannels: withVersions("v1.0.0", "v1.1.0", "v1.2.0-rc.1", "v1.2.0")},
			said:     latestImage + " stays: it has " + packageName + ".v1.2.0, " + packageName + ".v1.2.0-rc.1, and this catalog has not.",
		},
		"this one has not all versions of the other package": {
			registry: map[string]string{latestImage: other, latestChannels: withVersions("v1.0.0"), latestSibling: "- name: critical-service-workloads.v1.0.1\n"},
			said:     latestImage + " stays: it has critical-service-workloads.v1.0.1, and this catalog has not.",
		},
		"this one was published before, and another since": {
			registry: map[string]string{operatorImage: digest, catalogImage: digest, latestImage: other, latestChannels: withVersions("v1.0.0", "v1.1.0")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			said, ran := publish(t, released(), test.registry, digest, "v1.1.0")
			g.Expect(said).To(ContainSubstring(test.said))
			g.Expect(ran).To(ContainElement(page), "all else is published")
			if test.moves {
				g.Expect(ran).To(ContainElement(moves))
			} else {
				g.Expect(ran).NotTo(ContainElement(ContainSubstring(latestImage)))
			}
		})
	}
}

func TestNothingIsPublished(t *testing.T) {
	changed := func(name, content string) map[string]string {
		dist := released()
		dist[name] = content
		return dist
	}
	tests := map[string]struct {
		dist, registry map[string]string
		arguments      []string
		said           string
	}{
		"without a version": {
			dist: released(),
			said: "no version is given",
		},
		"without a release": {
			arguments: []string{"v1.1.0"},
			said:      "there is no release in dist/",
		},
		"of another version": {
			dist: released(), arguments: []string{"v1.2.0"},
			said: "the images above are not of v1.2.0",
		},
		"if one image is of another version": {
			dist:      changed("images.txt", operatorImage+"@"+digest+"\nquay.io/critical-service/operator-catalog:v1.0.0@"+digest+"\n"),
			arguments: []string{"v1.1.0"},
			said:      "the images above are not of v1.1.0",
		},
		"if a file is not what was made": {
			dist: changed("SHA256SUMS", strings.Repeat("0", 64)+"  ./install.yaml\n"), arguments: []string{"v1.1.0"},
			said: "dist/ is not what dist/SHA256SUMS says",
		},
		"over a version with another content": {
			dist: released(), registry: map[string]string{operatorImage: other}, arguments: []string{"v1.1.0"},
			said: "A version is published once",
		},
		"if the registry does not say what it has": {
			dist: released(), registry: map[string]string{"down": ""}, arguments: []string{"v1.1.0"},
			said: "is published already cannot be seen: Error: connection refused",
		},
		"if the latest catalog does not say which versions it has": {
			dist:     map[string]string{"images.txt": catalogImage + "@" + digest + "\n", channels: withVersions("v1.1.0")},
			registry: map[string]string{latestImage: other}, arguments: []string{"v1.1.0"},
			said: "which versions " + latestImage + " has cannot be seen.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			said, ran := publish(t, test.dist, test.registry, digest, test.arguments...)
			g.Expect(said).To(ContainSubstring("Not published: "))
			g.Expect(said).To(ContainSubstring(test.said))
			g.Expect(ran).To(BeEmpty())
		})
	}
}

func TestAnImageThatChangesOnTheWayEndsThePublication(t *testing.T) {
	g := NewWithT(t)
	said, ran := publish(t, released(), nil, other, "v1.1.0")
	g.Expect(said).To(ContainSubstring(operatorImage + " is " + other + " in the registry, and " + digest + " in dist/"))
	g.Expect(ran).To(Equal([]string{"crane push dist/images/operator " + operatorImage}))
}
