package make_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A value that has no meaning is refused before anything runs.
func TestAValueHasItsForm(t *testing.T) {
	const (
		version = "must be X.Y.Z, vX.Y.Z or X.Y.Z-rc.1"
		image   = "must be an image in lower case with its tag or digest"
		base    = "must be the beginning of all names of images"
	)
	versioned := []string{"bundle", "bundle-build", "bundle-push", "catalog", "chart", "chart-package"}
	for given, c := range map[string]struct {
		form    string
		targets []string
	}{
		"VERSION=": {version, versioned}, "VERSION=vv0.0.7": {version, versioned[:1]}, "VERSION=00.0.7": {version, versioned[:1]}, "VERSION=7": {version, versioned[:1]},
		"VERSION=0.0.7-rc.01": {version, versioned[:1]}, "VERSION=0.0.7+build": {version, versioned[:1]},
		"IMG=": {image, []string{"undeploy", "bundle"}}, "SCORECARD_IMG=": {image, []string{"bundle", "scorecard-build"}},
		"SCORECARD_IMG=registry.example.com/me/op": {image, []string{"bundle"}},
		"BUNDLE_IMG=": {image, []string{"bundle-build", "bundle-push", "catalog"}},
		"BUNDLE_IMG=registry.example.com/Me/op:v": {image, []string{"bundle-build", "bundle-push", "catalog"}},
		"IMAGE_TAG_BASE=":                         {base, []string{"docker-build", "bundle-push", "scorecard-build", "catalog", "undeploy"}},
		"IMAGE_TAG_BASE=registry.example.com/o:v": {base, []string{"docker-build", "bundle", "deploy"}},
		"USE_IMAGE_DIGESTS=1":                     {"must be true or false", []string{"bundle"}},
		"USE_IMAGE_DIGESTS=TRUE":                  {"must be true or false", []string{"bundle"}},
		"CONTAINER_TOOL=":                         {"CONTAINER_TOOL is empty: install docker, podman or buildah", []string{"docker-build", "bundle-push"}},
	} {
		t.Run(given, func(t *testing.T) {
			name, _, _ := strings.Cut(given, "=")
			refused := func(arguments ...string) {
				g := NewWithT(t)
				said, err := planned(t, append(arguments, given)...)
				g.Expect(err).To(HaveOccurred())
				g.Expect(said).To(MatchRegexp(`\*\*\* `+name+` is .*`+regexp.QuoteMeta(strings.TrimPrefix(c.form, name+" is "))), strings.Join(arguments, " "))
			}
			refused("--directory=workloads", c.targets[0])
			for _, target := range c.targets {
				refused(target)
			}
		})
	}
	for _, given := range []string{"VERSION=0.0.7-rc.1", "VERSION=10.20.30-0a.-", "USE_IMAGE_DIGESTS=false", "IMAGE_TAG_BASE=localhost:5000/op"} {
		said, err := planned(t, "bundle", "catalog", given)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), said)
	}
	for _, given := range []string{"CATALOG_IMG=", "CATALOG_IMG=registry.example.com/me/op"} {
		said, err := planned(t, "catalog-push", given)
		NewWithT(t).Expect(err).To(HaveOccurred())
		NewWithT(t).Expect(said).To(ContainSubstring(image))
	}
}

// Variables that were exported for the one are still there for the other.
func TestAnImageIsOfOneOperator(t *testing.T) {
	for sentence, c := range map[string]struct {
		folder, environment string
		targets             []string
		refused             bool
	}{
		"not the first's as the second's": {
			"workloads", "IMAGE_TAG_BASE=quay.io/critical-service/operator", []string{"docker-build", "docker-push", "bundle", "bundle-push", "catalog", "deploy"}, true,
		},
		"not the second's as the first's":         {".", "IMG=quay.io/critical-service/workloads:v1.0.0", []string{"docker-build", "bundle", "run-bundle"}, true},
		"not a bundle of the first's":             {"workloads", "BUNDLE_IMG=quay.io/critical-service/operator-bundle:v1.0.0", []string{"bundle-build", "catalog"}, true},
		"not a bundle of the second's":            {".", "BUNDLE_IMG=quay.io/critical-service/workloads-bundle:v1.0.0", []string{"bundle-push", "catalog"}, true},
		"its own":                                 {".", "IMG=quay.io/critical-service/operator:v1.0.0", []string{"docker-build", "bundle", "bundle-push", "catalog"}, false},
		"the second's own":                        {"workloads", "IMG=quay.io/critical-service/workloads:v1.0.0", []string{"docker-build", "bundle", "bundle-push", "catalog"}, false},
		"the first's is removed from the cluster": {"workloads", "IMG=quay.io/critical-service/operator:v1.0.0", []string{"undeploy"}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			for _, target := range c.targets {
				g := NewWithT(t)
				repo := repository()
				repo.Env = append(repo.Env, c.environment)
				said, err := repo.Run(t, "make", "--dry-run", "CONTAINER_TOOL=docker", "--directory="+c.folder, target)
				g.Expect(err != nil).To(Equal(c.refused), said)
				if c.refused {
					g.Expect(said).To(MatchRegexp(`\*\*\* \w*IMG is '\S+', which is an image of the other operator: give each its own`), target)
				}
			}
		})
	}
}

// Paths and versions of tools are in one row.
func TestThePageHasTheVariables(t *testing.T) {
	page := repository().Read(t, sdkPage)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		tool := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		if !strings.HasSuffix(name, "_VERSION") && !slices.Contains(targets, tool) && !strings.Contains(page, "`"+name) {
			t.Errorf("%s has not the variable %s", sdkPage, name)
		}
	}
}
