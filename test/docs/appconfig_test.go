package docs_test

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const appConfigPage = "docs/spec/appconfig.md"

func TestTheSpecificationOfAppConfigsNamesEveryFieldAndWord(t *testing.T) {
	g := NewWithT(t)
	page := read(g, appConfigPage)
	for _, field := range fieldsOf(g, []string{"workloads/api/v1/appconfig_types.go", "workloads/api/v2/appconfig_types.go"}) {
		g.Expect(page).To(MatchRegexp("`([a-zA-Z]+[.])*"+field+"`"), "%s does not explain %s", appConfigPage, field)
	}
	for _, word := range append(words(g, "workloads/api/v2", "Condition", "Reason"), words(g, "workloads/controllers/appconfig", "event")...) {
		g.Expect(page).To(ContainSubstring("`"+word+"`"), "%s does not explain %s", appConfigPage, word)
	}
	names := regexp.MustCompile(`ReservedPrefix \+ "([^"]+)"`).FindAllStringSubmatch(read(g, "workloads/api/v2/names.go"), -1)
	g.Expect(len(names)).To(BeNumerically(">=", 3))
	for _, name := range names {
		g.Expect(page).To(ContainSubstring("mycrd.com/"+name[1]), "%s does not explain %s", appConfigPage, name[1])
	}
}

// The bounds that the page promises are those of the schema and of the code.
func TestTheBoundsOfAppConfigsAreThoseOfTheCode(t *testing.T) {
	g := NewWithT(t)
	page := read(g, appConfigPage)
	for file, promises := range map[string]map[string]string{
		"workloads/api/v2/appconfig_types.go": {
			"MaxProperties=256": "At most 256 keys", "<= 262144": "262144 characters (256 KiB)", "size(self.metadata.name) <= 52": "at most 52 characters",
		},
		"workloads/controllers/appconfig/usage.go": {"perPage = 100\n": "100 at a time", "longestSearch = 10 * time.Second\n": "can be searched in 10 seconds"},
		"workloads/controllers/appconfig/pace.go":  {"searchesPerSecond = 2\n": "at most 2 AppConfigs a second", "secondsPerSearch, searchesAtOnce = 5,": "one every 5 seconds"},
		"workloads/controllers/appconfig/internal/decide/decide.go": {
			"kept = 3\n": "three newest", "{Shortest: time.Minute, Longest: time.Hour}": "at first after a minute or two, at last about once an hour",
		},
		"workloads/controllers/appconfig/internal/decide/conclude.go": {
			"{Shortest: time.Second, Longest: 10 * time.Minute}": "at first after a second, at last every 10 to 15 minutes",
		},
		"workloads/controllers/appconfig/internal/render/owner.go":     {"MostOwners = 16\n": "at most 16 of them"},
		"workloads/controllers/appconfig/internal/render/configmap.go": {"digits = 10\n": "10 digits of the hash"},
	} {
		source := read(g, file)
		for inCode, inPage := range promises {
			g.Expect(source).To(ContainSubstring(inCode), file)
			g.Expect(page).To(ContainSubstring(inPage))
		}
	}
}

// The walkthrough is what the tests do: its objects are theirs, and so is what its commands print.
func TestTheExerciseOfAppConfigsIsTested(t *testing.T) {
	g := NewWithT(t)
	steps := walkthrough(g, "docs/appconfig.md")
	expectApplied(g, steps, "workloads/test/e2e/testdata/document-appconfigs.yaml")
	versions := read(g, "workloads/controllers/appconfig/versions_test.go")
	for _, object := range applied(g, steps) {
		g.Expect(versions).To(ContainSubstring(regexp.MustCompile(`(?m)^spec: .*$`).FindString(object)))
	}
	test := strings.ReplaceAll(read(g, "workloads/test/e2e/appconfig_test.go"), `\n`, "\n")
	printed := 0
	for _, block := range regexp.MustCompile("(?s)```(?:console|text)\n(.*?)```").FindAllStringSubmatch(steps, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "Error from server: "), ": ...")
			if !strings.HasPrefix(line, "$ ") {
				printed++
				g.Expect(test).To(ContainSubstring(line), "no test sees this")
			}
		}
	}
	g.Expect(printed).To(BeNumerically(">", 5))
}
