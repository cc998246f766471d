package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Laws are what must hold for each revision of each object of a story, whatever befalls its operator.
type Laws struct {
	// Manager is the name under which the operator owns fields.
	Manager string
	// Made reports whether the operator has made an object, beside those whose label app.kubernetes.io/managed-by says so. It may
	// write all of them.
	Made func(object metav1.Object) bool
	// Writes are, by kind, what it may write of others: subresources, fields as far as the second part of their path, and Deletion.
	Writes map[string][]string
	// Untouched reports objects of which it may write nothing, whatever Writes says of their kind; nil is none.
	Untouched func(object metav1.Object) bool
	// Kept are the kinds of what it has made for longer than its owner lives.
	Kept []string
	// Further are laws of the story's own; each returns what does not hold.
	Further []func(revisions []Revision) []string
}

func (l Laws) made(object metav1.Object) bool {
	return object.GetLabels()["app.kubernetes.io/managed-by"] == l.Manager || l.Made != nil && l.Made(object)
}

func (l Laws) mayWrite(v Revision) []string {
	if l.Untouched != nil && l.Untouched(v.Object) {
		return nil
	}
	return l.Writes[v.Kind]
}

// Deletion of what the operator has not made.
const Deletion = "deletion"

// Revision is an object at one moment.
type Revision struct {
	// Change is what made it: Deleted is the last one.
	Change watch.EventType
	Kind   string
	client.Object
}

// String is how a failed test names it.
func (v Revision) String() string {
	return fmt.Sprintf("%s %s %q at %s", v.Change, v.Kind, v.GetName(), v.GetResourceVersion())
}

// history is all that happened to the objects of a story, in the order of each kind, and all that its operators asked for.
type history struct {
	laws      Laws
	namespace string
	scheme    *runtime.Scheme
	// end returns when nothing is watched any more.
	end func()

	mu        sync.Mutex
	revisions []Revision
	requests  []Request
}

// Record watches objects of some kinds from before the story's first operator to its end. Then its laws must have held all
// the time.
func (f *Fate) Record(w *World, laws Laws, kinds ...client.ObjectList) {
	w.T.Helper()
	h := &history{laws: laws, namespace: w.Namespace, scheme: w.Cluster.scheme}
	ctx, cancel := context.WithCancel(w.T.Context())
	var ends []func()
	for _, kind := range kinds {
		ends = append(ends, w.Follow(ctx, kind, h.note))
	}
	h.end = func() {
		cancel()
		for _, end := range ends {
			end()
		}
	}
	w.T.Cleanup(h.end) // Also if the story ends before its end.
	f.history = h
}

// note takes the next revision of an object of the story. What has no namespace is named after its world.
func (h *history) note(event watch.Event) {
	object, isObject := event.Object.(client.Object)
	if !isObject || object.GetNamespace() == "" && !strings.Contains(object.GetName(), h.namespace) {
		return
	}
	kind, err := apiutil.GVKForObject(object, h.scheme)
	if err != nil {
		kind.Kind = err.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revisions = append(h.revisions, Revision{event.Type, kind.Kind, object})
}

// ask takes the next request of an operator.
func (h *history) ask(request Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, request)
}

// effort is what an operator did in a story that is bounded by what it did in one without a fault.
type effort struct {
	// returns are the revisions by which objects got an earlier content, by kind: what goes wrong is no reason to go back and
	// forth more often.
	returns map[string][]Revision
	// writes are how many there were, by method and resource: what goes wrong is no reason to try without a pause.
	writes map[string]int
}

// How many writes a story may have, of each method and resource: so many times those that it has without a fault, and ten. What
// fails is tried again, and the next operator has to find out what the one before has done. Where caches are late, what they
// do not show yet is tried again when something else wakes the operator, and each second.
const timesTheWrites, timesWhereLate, moreWrites = 2, 6, 10

// beyond says what is much more than usual. Caches that are late may show for once what is gone.
func (e effort) beyond(usual effort, isLate bool) []string {
	again, times := 0, timesTheWrites
	if isLate {
		again, times = 1, timesWhereLate
	}
	var found []string
	for kind, revisions := range e.returns {
		if len(revisions) > len(usual.returns[kind])+again {
			found = append(found, fmt.Sprintf("an earlier content came back by %v, and undisturbed by %v", revisions, usual.returns[kind]))
		}
	}
	for what, count := range e.writes {
		if count > times*usual.writes[what]+moreWrites {
			found = append(found, fmt.Sprintf("there were %d writes %s, and undisturbed %d", count, what, usual.writes[what]))
		}
	}
	return found
}

// judge fails a story in which a law did not hold.
func (h *history) judge(t *testing.T) effort {
	t.Helper()
	if h == nil {
		return effort{}
	}
	h.end()
	h.mu.Lock()
	defer h.mu.Unlock()
	found := slices.Concat(foreignFields(h.laws, h.revisions), foreignRequests(h.laws, h.namespace, h.revisions, h.requests),
		orphans(h.laws, h.revisions), untrueStatuses(h.revisions))
	for _, law := range h.laws.Further {
		found = append(found, law(h.revisions)...)
	}
	if len(h.revisions) == 0 {
		found = append(found, "nothing was recorded")
	}
	for _, broken := range found {
		t.Error("a law does not hold: " + broken)
	}
	return effort{returns(h.laws, h.revisions), writes(h.requests)}
}

// writesObjects reports whether a request writes what a story is about: of events and Leases there is no law.
func writesObjects(r Request) bool {
	return r.Writes() && r.Resource() != "events" && r.Resource() != "leases"
}

// writes counts them by method and resource.
func writes(requests []Request) map[string]int {
	count := map[string]int{}
	for _, r := range requests {
		if writesObjects(r) {
			count[r.Method+" "+r.Resource()]++
		}
	}
	return count
}

// foreignFields are those that the operator wrote of objects that are not its own. Kubernetes remembers who wrote what.
func foreignFields(laws Laws, revisions []Revision) []string {
	found := map[string]bool{}
	made := madeBy(laws, revisions)
	for _, v := range revisions {
		for _, entry := range v.GetManagedFields() {
			if entry.Manager != laws.Manager || made[v.GetUID()] {
				continue
			}
			for _, field := range fieldsOf(entry) {
				if !slices.Contains(laws.mayWrite(v), field) {
					found[fmt.Sprintf("%s %q is not the operator's, which wrote its %s", v.Kind, v.GetName(), field)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// madeBy are the objects that the operator has made, by the first of their revisions: a user may take off what marks them, and
// who takes an object over marks it.
func madeBy(laws Laws, revisions []Revision) map[types.UID]bool {
	made := map[types.UID]bool{}
	for _, v := range revisions {
		if _, isKnown := made[v.GetUID()]; !isKnown {
			made[v.GetUID()] = laws.made(v.Object)
		}
	}
	return made
}

// fieldsOf are the fields of an entry as far as the second part of their path, or the subresource by which it was written.
func fieldsOf(entry metav1.ManagedFieldsEntry) []string {
	if entry.Subresource != "" {
		return []string{entry.Subresource}
	}
	var roots map[string]map[string]any
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &roots); err != nil {
		return []string{err.Error()}
	}
	var fields []string
	for root, inner := range roots {
		root = strings.TrimPrefix(root, "f:")
		if len(inner) == 0 {
			fields = append(fields, root)
		}
		for field := range inner {
			if field != "." { // The field itself, beside those in it.
				fields = append(fields, root+"."+strings.TrimPrefix(field, "f:"))
			}
		}
	}
	return fields
}

// foreignRequests are writes outside the story, and those to what the operator has not made, or to a kind that is not recorded,
// beyond what it may write there. What they take away is in no managed fields. A deletion says of which object it is: another
// one may have its name by then.
func foreignRequests(laws Laws, namespace string, revisions []Revision, requests []Request) []string {
	may, made, recorded := map[string][]string{}, madeBy(laws, revisions), map[string]bool{}
	mayGo := map[types.UID]bool{}
	for _, v := range revisions {
		resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: v.Kind})
		recorded[resource.Resource] = true
		object := resource.Resource + "/" + v.GetName()
		may[object] = slices.Concat(may[object], laws.mayWrite(v))
		if made[v.GetUID()] {
			may[object] = append(may[object], everything)
		}
		mayGo[v.GetUID()] = mayGo[v.GetUID()] || made[v.GetUID()] || slices.Contains(laws.mayWrite(v), Deletion)
	}
	var found []string
	for _, r := range requests {
		if !writesObjects(r) {
			continue
		}
		isInside := strings.Contains(r.Path, "/namespaces/"+namespace+"/") ||
			!strings.Contains(r.Path, "/namespaces/") && strings.Contains(r.Path, namespace)
		isAllowed := mayGo[r.UID]
		if r.Method != http.MethodDelete {
			isAllowed = mayBeSent(r, recorded, may)
		}
		if !isInside || !isAllowed {
			found = append(found, "the operator sent "+r.String())
		}
	}
	return found
}

// everything is what may be written of an object that the operator has made.
const everything = "*"

// mayBeSent reports whether a request, which deletes nothing, makes an object of a resource that is recorded, or writes what may
// be written, by resource and name.
func mayBeSent(r Request, recorded map[string]bool, may map[string][]string) bool {
	resource, subresource, isSubresource := strings.Cut(r.Resource(), "/")
	name := path.Base(r.Path)
	if isSubresource {
		name = path.Base(path.Dir(r.Path))
	}
	return r.Method == http.MethodPost && !isSubresource && recorded[resource] || slices.ContainsFunc(may[resource+"/"+name], func(part string) bool {
		switch {
		case part == everything:
			return true
		case isSubresource:
			return part == subresource
		default: // Which fields it writes is in the object's managed fields.
			return strings.Contains(part, ".")
		}
	})
}

// orphans are objects of the operator that no object owns which there was.
func orphans(laws Laws, revisions []Revision) []string {
	kinds, known := map[string]bool{}, map[types.UID]bool{}
	for _, v := range revisions {
		kinds[v.Kind], known[v.GetUID()] = true, true
	}
	found := map[string]bool{}
	for _, v := range revisions {
		isOwned := slices.ContainsFunc(v.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
			return known[owner.UID] || !kinds[owner.Kind]
		})
		if laws.made(v.Object) && !isOwned && !slices.Contains(laws.Kept, v.Kind) {
			found[fmt.Sprintf("%s %q has no owner", v.Kind, v.GetName())] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// untrueStatuses are those of a generation that there was not yet, or of an earlier one than before.
func untrueStatuses(revisions []Revision) []string {
	var found []string
	latest := map[types.UID]int64{}
	for _, v := range revisions {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(v.Object)
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		observed, _, _ := unstructured.NestedInt64(content, "status", "observedGeneration")
		before, isKnown := latest[v.GetUID()]
		if observed > v.GetGeneration() || isKnown && observed < before {
			found = append(found, fmt.Sprintf("%s is of generation %d, and its status is of %d, and was of %d before", v, v.GetGeneration(), observed, before))
		}
		latest[v.GetUID()] = observed
	}
	return found
}

// returns are the revisions, by kind, by which an object that the operator has made got the content of an earlier one of its
// name: also one that was made again.
func returns(laws Laws, revisions []Revision) map[string][]Revision {
	found := map[string][]Revision{}
	had, latest := map[string]map[string]bool{}, map[string]string{}
	for _, v := range revisions {
		content, name := contentOf(v), v.Kind+" "+v.GetNamespace()+"/"+v.GetName()
		if !laws.made(v.Object) {
			continue
		}
		if v.Change == watch.Deleted {
			delete(latest, name)
			continue
		}
		if content == latest[name] {
			continue
		}
		if had[name] == nil {
			had[name] = map[string]bool{}
		}
		if had[name][content] {
			found[v.Kind] = append(found[v.Kind], v)
		}
		had[name][content], latest[name] = true, content
	}
	return found
}

// contentOf is what an object asks for: all but its status, its annotations and what the API server notes.
func contentOf(v Revision) string {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(v.Object)
	if err != nil {
		return err.Error()
	}
	delete(content, "status")
	content["metadata"] = map[string]any{"labels": v.GetLabels(), "ownerReferences": v.GetOwnerReferences(), "finalizers": v.GetFinalizers()}
	text, err := json.Marshal(content)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
