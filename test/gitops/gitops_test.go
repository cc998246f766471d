package gitops

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const root = "../../"

// The first cells of the tables of the page, and the objects that each is about, by name.
// An object of every kind that no operator has looked at is called "unseen", and one whose
// spec was changed after that "changed".
var (
	unseen   = []string{"unseen", "changed"}
	policies = map[string][]string{
		"The operator has not looked yet, or not since the last change": unseen,
		"True: the Services are `Armed` or `Covered`, or there is nothing to do (no Service, `Ignored`, `Overridden`)": {
			"no-services", "armed", "armed-by-the-page", "covered", "ignored", "overridden",
		},
		"False: a Service is `Arming`, which may pass":                   {"arming", "arming-attention"},
		"False: a Service is `Arming`, which does not pass (`Stalled`)":  {"arming-stalled", "one-of-two-stalled"},
		"False: a Service is `Exposed`, which may pass":                  {"exposed", "exposed-attention"},
		"False: a Service is `Exposed`, which does not pass (`Stalled`)": {"exposed-stalled"},
		"False: the object itself is at fault: `SelectorInvalid`, `NamespaceNotWatched`, `TooMany` (`Stalled`)": {
			"selector-invalid", "namespace-not-watched", "too-many",
		},
	}
	maintenances = map[string][]string{
		"The operator has not looked yet, or not since the last change": unseen,
		"`Scheduled`, `Announced`, `AwaitingApplication`, `Drill` or `Ended`, whatever is `Owed`": {
			"scheduled", "announced", "awaiting-application", "drill", "ended", "owed", "nothing-taken", "restored", "never-permitted",
		},
		"`ScheduleInvalid`; `NotPermitted` before the end; `RestoreFailed` (`Stalled`)": {"schedule-invalid", "not-permitted", "restore-failed"},
	}
)

// judge is a tool: what it makes of an object, and the message that it shows.
type judge func(t *testing.T, object *unstructured.Unstructured) (verdict, message string)

// column is what a column of a table says: how a tool judges objects of a kind.
type column struct {
	header, kind string
	judge        judge
}

func columns(t *testing.T) []column {
	page := readPage(t)
	return []column{
		{"kstatus", "CriticalService", kstatus},
		{"kstatus", "ServiceFallback", kstatus},
		{"kstatus", "Maintenance", kstatus},
		{"CriticalService: Flux by expressions", "CriticalService", page.flux(t, "CriticalService")},
		{"ServiceFallback: Flux by expressions", "ServiceFallback", page.flux(t, "ServiceFallback")},
		{"CriticalService: Argo CD", "CriticalService", page.argo(t, "CriticalService")},
		{"ServiceFallback: Argo CD", "ServiceFallback", page.argo(t, "ServiceFallback")},
		{"Argo CD", "Maintenance", page.argo(t, "Maintenance")},
	}
}

func TestThePageSaysWhatTheToolsShow(t *testing.T) {
	page, objects := readPage(t), readObjects(t)
	judged := map[string]bool{}
	for _, column := range columns(t) {
		rows, table := policies, page.table(t, "`Ready`")
		if column.kind == "Maintenance" {
			rows, table = maintenances, page.table(t, "Maintenance")
		}
		expected := table.column(t, column.header)
		NewWithT(t).Expect(keys(expected)).To(ConsistOf(keys(rows)), "the rows of the table are those of the test")
		for row, names := range rows {
			for _, name := range names {
				object := objects[column.kind+"/"+name]
				if object == nil {
					continue // Only one of the kinds can be too many, or name namespaces.
				}
				judged[column.kind+"/"+name] = true
				t.Run(fmt.Sprintf("%s/%s/%s", column.kind, name, column.header), func(t *testing.T) {
					g := NewWithT(t)
					verdict, _ := column.judge(t, object)
					g.Expect(verdict).To(Equal(expected[row]), "%s", row)
				})
			}
		}
	}
	NewWithT(t).Expect(keys(judged)).To(ConsistOf(keys(objects)), "every object is in a row")
}

// The objects are of every state, so that the page is about all of them.
func TestTheObjectsAreInEveryState(t *testing.T) {
	g := NewWithT(t)
	states, conditions := map[string]bool{}, map[string]bool{}
	for _, object := range readObjects(t) {
		details, _, err := unstructured.NestedSlice(object.Object, "status", "details")
		g.Expect(err).NotTo(HaveOccurred())
		for _, detail := range details {
			states[object.GetKind()+"/"+detail.(map[string]any)["state"].(string)] = true
		}
		for _, condition := range conditionsOf(g, object) {
			conditions[object.GetKind()+"/"+condition["type"].(string)+"/"+condition["reason"].(string)] = true
		}
	}
	for _, kind := range []string{"CriticalService", "ServiceFallback"} {
		for _, state := range []string{"Ignored", "Arming", "Armed", "Exposed", "Covered"} {
			g.Expect(states).To(HaveKey(kind + "/" + state))
		}
		for _, reason := range []string{"Protected", "NoServices", "NotProtected", "SelectorInvalid"} {
			g.Expect(conditions).To(HaveKey(kind + "/Ready/" + reason))
		}
	}
	g.Expect(conditions).To(HaveKey("CriticalService/Ready/NamespaceNotWatched"))
	g.Expect(conditions).To(HaveKey("ServiceFallback/Ready/TooMany"))
	for _, reason := range []string{"Announced", "AwaitingApplication", "Drill", "Scheduled", "Ended", "ScheduleInvalid"} {
		g.Expect(conditions).To(HaveKey("Maintenance/Active/" + reason))
	}
	for _, reason := range []string{"Restored", "NothingTaken", "Owed", "RestoreFailed", "NotPermitted"} {
		g.Expect(conditions).To(HaveKey("Maintenance/Restored/" + reason))
	}
}

// A user of a tool learns what is wrong: of an outage the message says so, of a failure
// it is that of the condition.
func TestTheMessagesSayWhatIsWrong(t *testing.T) {
	objects := readObjects(t)
	for _, column := range columns(t) {
		if strings.HasSuffix(column.header, "by expressions") {
			continue // Flux says no more than Failed or InProgress.
		}
		for name, object := range objects {
			if object.GetKind() != column.kind {
				continue
			}
			t.Run(name+"/"+column.header, func(t *testing.T) {
				g := NewWithT(t)
				verdict, message := column.judge(t, object)
				g.Expect(message).NotTo(BeEmpty())
				for _, condition := range conditionsOf(g, object) {
					isTrue := condition["status"] == "True"
					switch {
					case condition["type"] == "Stalled" && isTrue && slices.Contains([]string{"Failed", "Degraded"}, verdict),
						condition["type"] == "Outage" && isTrue && verdict == "Healthy":
						g.Expect(message).To(Equal(condition["message"]))
					}
				}
			})
		}
	}
}

// An outage holds back no deployment, by the rules of the page.
func TestAnOutageHoldsNothingBack(t *testing.T) {
	objects := readObjects(t)
	outages := 0
	for _, column := range columns(t) {
		for name, object := range objects {
			if object.GetKind() != column.kind || column.header == "kstatus" || !inOutage(NewWithT(t), object) {
				continue
			}
			outages++
			verdict, _ := column.judge(t, object)
			NewWithT(t).Expect(verdict).To(BeElementOf("Current", "Healthy"), "%s: %s", name, column.header)
		}
	}
	NewWithT(t).Expect(outages).To(BeNumerically(">=", 4*4))
}

// An operator that is gone leaves objects as they were; one that never was leaves none
// that looks well.
func TestWhatNoOperatorHasSeenIsNotWell(t *testing.T) {
	for _, kind := range []string{"CriticalService", "ServiceFallback", "Maintenance"} {
		NewWithT(t).Expect(readObjects(t)).To(HaveKey(kind + "/unseen"))
	}
	// What an API server without the default of the status would return.
	for _, column := range columns(t) {
		if column.header == "kstatus" || strings.HasSuffix(column.header, "by expressions") {
			continue
		}
		bare := readObjects(t)[column.kind+"/unseen"].DeepCopy()
		delete(bare.Object, "status")
		verdict, _ := column.judge(t, bare)
		NewWithT(t).Expect(verdict).To(Equal("Progressing"), column.kind)
	}
}

func inOutage(g Gomega, object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(conditionsOf(g, object), func(condition map[string]any) bool {
		return condition["type"] == "Outage" && condition["status"] == "True"
	})
}

func conditionsOf(g Gomega, object *unstructured.Unstructured) (conditions []map[string]any) {
	list, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	g.Expect(err).NotTo(HaveOccurred())
	for _, condition := range list {
		conditions = append(conditions, condition.(map[string]any))
	}
	return conditions
}

func keys[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }

// page is docs/gitops.md.
type page string

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile(root + "docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	return page(text)
}

var block = regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```")

// blocks are the YAML documents of the page.
func (p page) blocks() (blocks []string) {
	for _, match := range block.FindAllStringSubmatch(string(p), -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// table is the cells of a table, the first line its headers.
type table [][]string

// table is the one whose first header is given.
func (p page) table(t *testing.T, header string) (found table) {
	t.Helper()
	_, rest, isThere := strings.Cut(string(p), "\n| "+header+" |")
	if !isThere {
		t.Fatalf("docs/gitops.md has no table that begins with %s", header)
	}
	text, _, _ := strings.Cut("| "+header+" |"+rest, "\n\n")
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i != 1 {
			found = append(found, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	return found
}

// column is what a column says, by the first cell of the row.
func (rows table) column(t *testing.T, header string) map[string]string {
	t.Helper()
	at := slices.Index(rows[0], header)
	if at < 0 {
		t.Fatalf("no column %q among %q", header, rows[0])
	}
	cells := map[string]string{}
	for _, row := range rows[1:] {
		cells[row[0]] = row[at]
	}
	return cells
}
