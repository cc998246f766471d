package docs_test

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	databasePage = "docs/database.md"
	// exercise is the heading under which a page walks through the exercise that its kind comes from.
	exercise = "## The exercise, step by step\n"
)

// walkthrough are the steps of a page's exercise, without the indentation of the list that they are.
func walkthrough(g Gomega, page string) string {
	_, steps, found := strings.Cut(read(g, page), exercise)
	g.Expect(found).To(BeTrue(), page)
	return regexp.MustCompile(`(?m)^ {3}`).ReplaceAllString(steps, "")
}

// applied are the objects that a walkthrough applies.
func applied(g Gomega, steps string) []string {
	applies := regexp.MustCompile(`(?s)kubectl apply -f - <<'END'\n(.*?)\nEND\n`).FindAllStringSubmatch(steps, -1)
	g.Expect(applies).To(HaveLen(1))
	return strings.Split(applies[0][1], "\n---\n")
}

// expectApplied requires a walkthrough to apply what the file of a test has.
func expectApplied(g Gomega, steps, file string) {
	objects, tested := applied(g, steps), strings.Split(read(g, file), "\n---\n")
	g.Expect(objects).To(HaveLen(len(tested)), file)
	for i := range objects {
		g.Expect(objects[i]).To(MatchYAML(tested[i]), file)
	}
}

// The test types the YAML of the source document, but for the group, and so does the page.
func TestTheExerciseOfDatabasesIsTested(t *testing.T) {
	g := NewWithT(t)
	steps, test := walkthrough(g, databasePage), strings.ReplaceAll(read(g, "workloads/test/e2e/walkthrough_test.go"), `", "`, " ")
	expectApplied(g, steps, "workloads/test/e2e/testdata/document-mongo.yaml")
	for _, said := range []string{"get pod,svc", "NodePort", "Pod and Service created by Database "} {
		g.Expect(steps).To(ContainSubstring(said))
		g.Expect(test).To(ContainSubstring(said))
	}
}

// The page says plainly what runs in the tests under the names of the official images.
func TestThePageOfDatabasesNamesTheStandIns(t *testing.T) {
	g := NewWithT(t)
	page := read(g, databasePage)
	ferret := measured{"workloads/test/images/mongo/go.mod", `FerretDB/FerretDB v([\d.]+)`}.figure(g)
	postgres := measured{"workloads/test/images/build.sh", ` postgresql-(\d+) `}.figure(g)
	g.Expect(read(g, "workloads/test/images/build.sh")).To(ContainSubstring("mariadb-server"))
	for kind, standIn := range map[string]string{"mongo": "FerretDB " + ferret, "mysql": "MariaDB, Debian's `mariadb-server`", "postgres": "PostgreSQL " + postgres} {
		image := measured{"workloads/internal/settings/settings.go", `Preset: "(` + kind + `:[^"]+)"`}.figure(g)
		g.Expect(page).To(ContainSubstring("| `" + kind + "` | `" + image + "` | " + standIn))
	}
}
