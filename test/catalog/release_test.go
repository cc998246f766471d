package catalog_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	secondVersion = "catalog/" + packageName + "/bundles/v1.1.0.yaml"
	firstVersion  = "catalog/" + packageName + "/bundles/v1.0.0.yaml"
)

// release is a tree in which v1.1.0 is ready, and v1.0.0 is released.
func release() map[string]string {
	files := map[string]string{
		"CHANGELOG.md": changelog("## [1.1.0] - 2026-12-01"),
		firstVersion:   "image: quay.io/critical-service/operator-bundle@sha256:0123\n",
		secondVersion:  "image: quay.io/critical-service/operator-bundle:v1.1.0\n",
	}
	for folder, name := range map[string]string{"": packageName, "workloads/": "critical-service-workloads"} {
		files[folder+"PROJECT"] = "projectName: " + name + "\n"
		files[folder+"bundle/manifests/"+name+".clusterserviceversion.yaml"] = "metadata:\n  name: " + name + ".v1.1.0\n"
		files["catalog/"+name+"/channels.yaml"] = "entries:\n- name: " + name + ".v1.0.0\n- name: " + name + ".v1.1.0\n"
	}
	return files
}

// What is not released yet has one section: that of the version which will bring it, or [Unreleased] if that has no
// number yet.
func TestTheChangelogHasOneSectionOfWhatIsNotReleased(t *testing.T) {
	g := NewWithT(t)
	log, err := os.ReadFile("../../CHANGELOG.md")
	g.Expect(err).NotTo(HaveOccurred())
	makefile, err := os.ReadFile("../../Makefile")
	g.Expect(err).NotTo(HaveOccurred())
	version := regexp.MustCompile(`(?m)^VERSION \?= (\S+)$`).FindSubmatch(makefile)
	g.Expect(version).To(HaveLen(2))
	g.Expect(regexp.MustCompile(`(?m)^## \[`+regexp.QuoteMeta(string(version[1]))+`\] - (unreleased|\d{4}-\d\d-\d\d)$`).FindAll(log, -1)).To(HaveLen(1))
	g.Expect(len(regexp.MustCompile(`(?m)^## (\[Unreleased\]|.* - unreleased)$`).FindAll(log, -1))).To(BeNumerically("<=", 1))
}

// changelog has a section with an entry for each heading.
func changelog(headings ...string) string {
	text := "# Changelog\n"
	for _, heading := range headings {
		text += "\n" + heading + "\n\n### Added\n\n- what is new\n"
	}
	return text
}

// tryRelease runs hack/release.sh in a repository of these files, and is what it
// said. It has no Makefile there: what is not refused ends at the binaries.
func tryRelease(t *testing.T, files map[string]string, environment []string, arguments ...string) string {
	g := NewWithT(t)
	folder := t.TempDir()
	for _, name := range []string{"hack/release.sh", "hack/project.sh", "hack/container-tool.sh"} {
		data, err := os.ReadFile(filepath.Join("../..", name))
		g.Expect(err).NotTo(HaveOccurred())
		files[name] = string(data)
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(content), 0o755)).To(Succeed())
	}
	environment = append(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "REGISTRY=127.0.0.1:1", "OPM_IMAGE=quay.io/operator-framework/opm@"+digest), environment...)
	run := func(program string, arguments ...string) (string, error) {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir, command.Env = folder, environment
		output, err := command.CombinedOutput()
		return string(output), err
	}
	for _, arguments := range [][]string{
		{"init", "--quiet"}, {"add", "."},
		{"-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message", "All"},
	} {
		said, err := run("git", arguments...)
		g.Expect(err).NotTo(HaveOccurred(), said)
	}
	said, err := run("hack/release.sh", arguments...)
	g.Expect(err).To(HaveOccurred())
	return said
}

func TestAReleaseIsRefused(t *testing.T) {
	tests := map[string]struct {
		change      func(files map[string]string)
		environment string
		arguments   []string
		said        string
	}{
		"not if all is ready": {
			arguments: []string{"v1.1.0"},
			said:      "== Binaries",
		},
		"without a version": {
			said: "There is no release: '' is no version.",
		},
		"without an entry in the changelog": {
			change: func(files map[string]string) {
				files["CHANGELOG.md"] = changelog("## [1.0.0] - 2026-11-01", "## [1x1.0] - 2026-11-02")
			},
			arguments: []string{"v1.1.0"},
			said:      "There is no release: CHANGELOG.md has no section '## [1.1.0] - YYYY-MM-DD'.",
		},
		"with an entry in the changelog that has no day": {
			change:    func(files map[string]string) { files["CHANGELOG.md"] = changelog("## [1.1.0] - unreleased") },
			arguments: []string{"v1.1.0"},
			said:      "There is no release: CHANGELOG.md has no section '## [1.1.0] - YYYY-MM-DD'.",
		},
		"with entries in the changelog that are of no version": {
			change: func(files map[string]string) {
				files["CHANGELOG.md"] = changelog("## [Unreleased]", "## [1.1.0] - 2026-12-01")
			},
			arguments: []string{"v1.1.0"},
			said:      "There is no release: CHANGELOG.md has entries under [Unreleased]",
		},
		"not for a heading under which there is nothing": {
			change: func(files map[string]string) {
				files["CHANGELOG.md"] = changelog("## [1.1.0] - 2026-12-01") + "\n## [Unreleased]\n\n### Added\n"
			},
			arguments: []string{"v1.1.0"},
			said:      "== Binaries",
		},
		"without a base of the catalog's image": {
			environment: "OPM_IMAGE=",
			arguments:   []string{"v1.1.0"},
			said:        "There is no release: OPM_IMAGE is '', and a tag can mean another image tomorrow.",
		},
		"of a catalog alone whose base is named by tag": {
			environment: "OPM_IMAGE=quay.io/operator-framework/opm:v1.61.0",
			arguments:   []string{"v1.1.0-stable", "catalog"},
			said:        "There is no release: OPM_IMAGE is 'quay.io/operator-framework/opm:v1.61.0'",
		},
		"with the bundle of another version": {
			arguments: []string{"v1.0.0"},
			change:    func(files map[string]string) { files["CHANGELOG.md"] = changelog("## [1.0.0] - 2026-11-01") },
			said:      "There is no release: bundle/ is of another version.",
		},
		"with the workloads' bundle of another version": {
			arguments: []string{"v1.1.0"},
			change: func(files map[string]string) {
				files["workloads/bundle/manifests/critical-service-workloads.clusterserviceversion.yaml"] = "metadata:\n"
			},
			said: "There is no release: workloads/bundle/ is of another version. Set VERSION to 1.1.0 in the Makefile, run 'make -C workloads bundle catalog', and commit.",
		},
		"without the workloads in a channel": {
			change: func(files map[string]string) {
				files["catalog/critical-service-workloads/channels.yaml"] = "entries: []\n"
			},
			arguments: []string{"v1.1.0"},
			said:      "has critical-service-workloads.v1.1.0. Add an entry",
		},
		"in no channel": {
			change:    func(files map[string]string) { files["catalog/"+packageName+"/channels.yaml"] = "entries: []\n" },
			arguments: []string{"v1.1.0"},
			said:      "has " + packageName + ".v1.1.0. Add an entry",
		},
		"before the one before it is in the catalog by digest": {
			change:    func(files map[string]string) { files[firstVersion] = files[secondVersion] },
			arguments: []string{"v1.1.0"},
			said:      "There is no release: " + firstVersion + " names its image by tag",
		},
		"of a catalog that offers what is not released": {
			arguments: []string{"v1.1.0-stable", "catalog"},
			said:      "There is no release: " + secondVersion + " names its image by tag",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := release()
			if test.change != nil {
				test.change(files)
			}
			said := tryRelease(t, files, []string{"CONTAINER_TOOL=true", test.environment}, test.arguments...)
			NewWithT(t).Expect(said).To(ContainSubstring(test.said))
		})
	}
}

func TestWithoutAToolForImagesNothingBegins(t *testing.T) {
	g := NewWithT(t)
	broken := t.TempDir()
	for _, name := range []string{"docker", "podman", "buildah"} {
		g.Expect(os.WriteFile(filepath.Join(broken, name), []byte("#!/bin/sh\nexit 1\n"), 0o755)).To(Succeed())
	}
	said := tryRelease(t, release(), []string{"CONTAINER_TOOL=", "PATH=" + broken + ":" + os.Getenv("PATH")}, "v1.1.0")
	g.Expect(said).To(HavePrefix("no working docker, podman or buildah found"))
	g.Expect(said).NotTo(ContainSubstring("== Binaries"))
}
