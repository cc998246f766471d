// Package memory is the one list of what this kind remembers outside of the API.
package memory

import (
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/controller/store"
	"github.com/critical-service/operator/internal/diagnosis"
)

// Memory is what was learnt by asking, by Service: answers of the API server and of
// standbys, what follows from them, and what was counted. All of it may be lost: after
// a restart it is empty, and the next question, or the first look at each Service, fills
// it. What must not be lost is in API objects.
type Memory struct {
	// Judgements are what was decided last about each Service, for status and metrics.
	Judgements Judgements
	// Attempts are the API server's last answers to the create of a fallback Pod.
	Attempts OfService[decide.Attempt]
	// Refusals are why standby slices could not be written.
	Refusals OfService[decide.Refusal]
	// Written are the standby slices that were written, by this operator or another writer,
	// and that the cache may not show yet, by name.
	Written OfService[map[string]Written]
	// Lookups are the last answers to whose Pod has a fallback's name, for those who
	// observe without asking the API server.
	Lookups OfService[Lookup]
	// Checks are the last self-tests, and Unconfirmed the questions that had no answer
	// in the last one.
	Checks      OfService[summary.Check]
	Unconfirmed OfService[map[string]bool]
	// Answers are the fallback Pods that have answered a self-test.
	Answers OfService[Answer]
	// Diagnoses are the outages whose cause is looked for.
	Diagnoses OfService[Diagnosis]
	// Denials are the kinds of fallback that the API server denied in this outage.
	Denials OfService[string]

	// Statuses are how far the status of each policy is.
	Statuses store.Map[types.NamespacedName, Status]
	// Tables are the parsed tables of the responders, by namespace: a mass failure
	// reads the same one again and again.
	Tables Tables
	// Compared are the tables that were last compared with those before, by namespace.
	Compared store.Map[string, map[string][]listener.Listener]
	// Contents are what is wrong with the content of teams that a page names.
	Contents Readings[[]page.Problem]
	// Templates are the PodTemplates that a policy names; nil if too large.
	Templates Readings[*corev1.PodTemplate]
}

// OfService is something that is remembered of each Service.
type OfService[V any] = store.Map[types.NamespacedName, V]

// Written is the write of a slice.
type Written struct {
	// From is the resourceVersion of the slice before; empty if it was created.
	From string
	At   time.Time
}

// Lookup is what is known of a Pod that has a fallback's name.
type Lookup struct {
	// Of are the Pods that slices listed under that name, as decide.Snapshot has them.
	Of []types.UID
	// Conflict is the Pod, if it is no fallback; nil if it is one, or is gone.
	Conflict *corev1.Pod
}

// LookupOf keeps of a Pod in conflict what a decision reads.
func LookupOf(pod *corev1.Pod, of ...types.UID) Lookup {
	return Lookup{Of: of, Conflict: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID}}}
}

// Answer is of a fallback Pod that has answered a self-test on every port.
type Answer struct {
	Pod types.UID
	// Fell is true since it answers on none any more.
	Fell bool
}

// Silent is the fallback Pod of a Service that has fallen silent; empty if none has.
func (m *Memory) Silent(service types.NamespacedName) types.UID {
	if answer := m.Answers.Get(service); answer != nil && answer.Fell {
		return answer.Pod
	}
	return ""
}

// Diagnosis is the search for the cause of one outage.
type Diagnosis struct {
	// Looks is how often was looked; Next is when the next time is.
	Looks int
	Next  time.Time
	// Planned says that the last look read nothing, because the outage is planned.
	Planned bool
	// Found is the last diagnosis, and Cause what it says of the outage; nil if nothing
	// was found.
	Found *diagnosis.Diagnosis
	Cause *criticalv2.OutageCause
	// Reported are the reasons of which an event was sent; nil before anything was found.
	Reported []string
}

// Status is how far the status of a policy is.
type Status struct {
	// Settled is the spec for which every Service that it matches was judged.
	Settled summary.Policy
	// Awaits is the Service for which the status waits until then.
	Awaits types.NamespacedName
	// Written is when it was written last.
	Written time.Time
}

// Tables are the tables of the responders, by namespace.
type Tables struct {
	store.Map[string, Table]
	parsing singleflight.Group
}

// Table is the table of a responder by Service, empty where it cannot be parsed, and
// the version of the ConfigMap that it was parsed from.
type Table struct {
	Version   string
	Listeners map[string][]listener.Listener
}

// Parsed are the listeners of a version of a namespace's table. Each is parsed once, and
// only who wants the same waits for it.
func (t *Tables) Parsed(namespace, version string, parse func() map[string][]listener.Listener) map[string][]listener.Listener {
	known := func() *Table {
		if last := t.Get(namespace); last != nil && last.Version == version {
			return last
		}
		return nil
	}
	if last := known(); last != nil {
		return last.Listeners
	}
	parsed, _, _ := t.parsing.Do(namespace+"/"+version, func() (any, error) {
		if last := known(); last != nil { // Another worker was done a moment ago.
			return last.Listeners, nil
		}
		listeners := parse()
		t.Set(namespace, Table{Version: version, Listeners: listeners})
		return listeners, nil
	})
	return parsed.(map[string][]listener.Listener)
}

// Cause is what explains the outage of a Service; nil if nothing is known.
func (m *Memory) Cause(service types.NamespacedName) *criticalv2.OutageCause {
	if known := m.Diagnoses.Get(service); known != nil {
		return known.Cause
	}
	return nil
}

// Forget drops what is remembered of a Service that is gone, or that no policy
// matches any more, and of its namespace if it was the last one there.
func (m *Memory) Forget(service types.NamespacedName) {
	m.Judgements.Delete(service)
	m.Attempts.Delete(service)
	m.Refusals.Delete(service)
	m.Written.Delete(service)
	m.Lookups.Delete(service)
	m.Checks.Delete(service)
	m.Unconfirmed.Delete(service)
	m.Answers.Delete(service)
	m.Diagnoses.Delete(service)
	m.Denials.Delete(service)
	if !m.Judgements.HasNamespace(service.Namespace) {
		m.Tables.Delete(service.Namespace)
		m.Compared.Delete(service.Namespace)
	}
}
