package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	root      = "../.."
	committed = root + "/config/grafana/critical-service-operator.json"
)

// shown is what Grafana reads of the dashboard, as far as it matters here.
type shown struct {
	UID        string
	Refresh    string
	Panels     []shownPanel
	Templating struct{ List []shownVariable }
}

type shownSource struct{ Type, UID string }

type shownPanel struct {
	ID          int
	Type        string
	Title       string
	Description string
	Datasource  shownSource
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
	Targets []struct {
		RefID      string
		Expr       string
		Datasource shownSource
		Instant    bool
	}
}

type shownVariable struct {
	Name, Type, Query string
	Datasource        shownSource
}

func read(g Gomega, path string) string {
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	return string(content)
}

func parse(g Gomega) shown {
	var board shown
	g.Expect(json.Unmarshal([]byte(read(g, committed)), &board)).To(Succeed())
	g.Expect(len(board.Panels)).To(BeNumerically(">", 20))
	return board
}

func TestTheDashboardIsWhatItsCodeGenerates(t *testing.T) {
	g := NewWithT(t)
	content, err := render()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(g, committed)).To(Equal(string(content)), "run 'make dashboard' and commit the result")
}

func TestEveryPanelSaysWhatItShows(t *testing.T) {
	g := NewWithT(t)
	board := parse(g)
	g.Expect(board.UID).To(Equal("critical-service-operator"))
	ids, titles := map[int]bool{}, map[string]bool{}
	for _, panel := range board.Panels {
		g.Expect(panel.ID).To(BeNumerically(">", 0), panel.Title)
		g.Expect(ids[panel.ID]).To(BeFalse(), "two panels have the number %d", panel.ID)
		g.Expect(titles[panel.Title]).To(BeFalse(), "two panels are called %q", panel.Title)
		ids[panel.ID], titles[panel.Title] = true, true
		g.Expect(panel.Title).NotTo(BeEmpty())
		if panel.Type == "row" {
			continue
		}
		g.Expect(panel.Description).To(HaveSuffix("."), "the description of %q is a sentence", panel.Title)
		g.Expect(panel.FieldConfig.Defaults.Unit).NotTo(BeEmpty(), "panel %q has no unit", panel.Title)
		g.Expect(panel.Datasource).To(Equal(shownSource{"prometheus", "${datasource}"}), panel.Title)
		refs := map[string]bool{}
		g.Expect(panel.Targets).NotTo(BeEmpty(), panel.Title)
		for _, target := range panel.Targets {
			g.Expect(target.RefID).To(MatchRegexp("^[A-Z]$"), panel.Title)
			g.Expect(refs[target.RefID]).To(BeFalse(), "two queries of %q are called %s", panel.Title, target.RefID)
			refs[target.RefID] = true
			g.Expect(target.Datasource).To(Equal(panel.Datasource), panel.Title)
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	g := NewWithT(t)
	taken := map[[2]int]string{}
	for _, panel := range parse(g).Panels {
		at := panel.GridPos
		g.Expect(at.X+at.W).To(BeNumerically("<=", full), "panel %q leaves the grid", panel.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				g.Expect(taken[[2]int{x, y}]).To(BeEmpty(), "panel %q lies on another", panel.Title)
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
}

var (
	window   = regexp.MustCompile(`\[([^\]]*)\]`)
	variable = regexp.MustCompile(`\$\{?([a-z]\w*)\}?`)
	metric   = regexp.MustCompile(`\b(critical_service|controller_runtime|workqueue|process|go)_[a-z_]+`)
	library  = regexp.MustCompile(`^(controller_runtime|workqueue|process|go)_`)
)

func TestQueriesAreSound(t *testing.T) {
	g := NewWithT(t)
	board := parse(g)
	documented := read(g, root+"/docs/metrics.md")
	known := map[string]bool{}
	for _, each := range board.Templating.List {
		known[each.Name] = true
		if each.Type == "query" {
			g.Expect(each.Datasource.UID).To(Equal("${datasource}"), each.Name)
			sound(g, each.Name, each.Query, documented, known)
		}
	}
	g.Expect(known).To(HaveKey("datasource"))
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			sound(g, panel.Title, target.Expr, documented, known)
			for _, span := range window.FindAllStringSubmatch(target.Expr, -1) {
				// What fits the graph's step is known to Grafana; figures are about all the time that is shown.
				want := "$__rate_interval"
				if target.Instant {
					want = "$__range"
				}
				g.Expect(span[1]).To(Equal(want), "the range of a query of %q", panel.Title)
			}
		}
	}
}

// sound holds a query to what is documented and chosen.
func sound(g Gomega, where, query, documented string, variables map[string]bool) {
	names := metric.FindAllString(query, -1)
	g.Expect(names).NotTo(BeEmpty(), "a query of %q", where)
	for _, name := range names {
		if name == "critical_service" {
			continue // The label.
		}
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if family := library.FindString(name); family != "" {
			base = family + "*" // Those of libraries are documented as families.
		}
		g.Expect(documented).To(ContainSubstring("`"+base+"`"), "%q asks for %s, which docs/metrics.md does not explain", where, name)
	}
	for _, used := range variable.FindAllStringSubmatch(query, -1) {
		g.Expect(variables).To(HaveKey(used[1]), "%q uses $%s", where, used[1])
	}
}
