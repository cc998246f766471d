package workflows

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// form is what GitHub accepts as a form for issues, as far as ours go.
type form struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Labels      []string `json:"labels"`
	Body        []struct {
		Type       string `json:"type"`
		ID         string `json:"id"`
		Attributes struct {
			Label       string `json:"label"`
			Description string `json:"description"`
			Placeholder string `json:"placeholder"`
			Render      string `json:"render"`
			Value       string `json:"value"`
		} `json:"attributes"`
		Validations struct {
			Required bool `json:"required"`
		} `json:"validations"`
	} `json:"body"`
}

func TestGitHubCanReadTheFormsForIssues(t *testing.T) {
	g := NewWithT(t)
	paths, err := filepath.Glob(filepath.Join(root, ".github/ISSUE_TEMPLATE/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(paths)).To(BeNumerically(">", 1))
	for _, path := range paths {
		path = filepath.Join(".github/ISSUE_TEMPLATE", filepath.Base(path))
		var form form
		g.Expect(yaml.UnmarshalStrict([]byte(read(g, path)), &form)).To(Succeed(), path)
		g.Expect([]string{form.Name, form.Description}).NotTo(ContainElement(BeEmpty()), path)
		ids, labels := map[string]bool{}, map[string]bool{}
		for _, field := range form.Body {
			if field.Type == "markdown" {
				g.Expect(field.Attributes.Value).NotTo(BeEmpty(), path)
				continue
			}
			g.Expect(field.Type).To(BeElementOf("input", "textarea"), path)
			g.Expect(field.ID).To(MatchRegexp(`^[\w-]+$`), path)
			g.Expect(field.Attributes.Label).NotTo(BeEmpty(), path)
			g.Expect(ids).NotTo(HaveKey(field.ID), path)
			g.Expect(labels).NotTo(HaveKey(field.Attributes.Label), path)
			ids[field.ID], labels[field.Attributes.Label] = true, true
		}
		g.Expect(ids).NotTo(BeEmpty(), "%s asks nothing", path)
	}
}

func TestAPullRequestIsAskedForChecksThatExist(t *testing.T) {
	g := NewWithT(t)
	targets := names(target, read(g, "Makefile")+read(g, "hack/project.mk"))
	checks := names(regexp.MustCompile("`make ([a-z0-9 -]+)`"), read(g, ".github/PULL_REQUEST_TEMPLATE.md"))
	g.Expect(strings.Fields(strings.Join(checks, " "))).To(ContainElements("verify", "lint", "test"))
	for _, check := range checks {
		g.Expect(targets).To(ContainElements(strings.Fields(check)), "make has no such target")
	}
}
