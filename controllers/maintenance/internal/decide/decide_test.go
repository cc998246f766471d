package decide_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
)

var end = time.Date(2030, 1, 31, 18, 30, 0, 0, time.UTC)

type option func(*decide.Snapshot)

// snapshot is of a maintenance that ended just now, of an application that was
// scaled from 3 to 0 and is still there.
func snapshot(options ...option) decide.Snapshot {
	s := decide.Snapshot{
		Now: end,
		Config: &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "shop-maintenance", Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderMaintenance}},
			Data: map[string]string{
				"service": "shop", "until": end.Format(time.RFC3339), "workload": "deployments.apps/shop", "replicas": "3",
			},
		},
		Scale: &decide.Scale{},
	}
	for _, option := range options {
		option(&s)
	}
	return s
}

func says(key, value string) option {
	return func(s *decide.Snapshot) { s.Config.Data[key] = value }
}

func called(name string) option { return func(s *decide.Snapshot) { s.Config.Name = name } }

func after(d time.Duration) option { return func(s *decide.Snapshot) { s.Now = end.Add(d) } }

func scaled(replicas int32) option {
	return func(s *decide.Snapshot) { s.Scale = &decide.Scale{Replicas: replicas} }
}

func answers(s *decide.Snapshot)    { s.Answers = true }
func noWorkload(s *decide.Snapshot) { s.Scale = nil }
func unreadable(s *decide.Snapshot) { s.Unreadable = "forbidden" }

func nothingTaken(s *decide.Snapshot) {
	delete(s.Config.Data, "workload")
	delete(s.Config.Data, "replicas")
}

// summary is a plan as a line of text.
func summary(plan decide.Plan) string {
	var parts []string
	for _, part := range []struct {
		text  string
		holds bool
	}{
		{"invalid", plan.Invalid != ""}, {"stuck", plan.Stuck != ""},
		{"restore", plan.Restore}, {"clear debt", plan.ClearDebt}, {"delete", plan.Delete},
	} {
		if part.holds {
			parts = append(parts, part.text)
		}
	}
	if plan.RecheckAfter > 0 {
		parts = append(parts, "recheck "+plan.RecheckAfter.String())
	}
	return strings.Join(parts, ", ")
}

func TestTheEndOfAMaintenance(t *testing.T) {
	for sentence, c := range map[string]struct {
		snapshot decide.Snapshot
		want     string
	}{
		"before its end nothing is done":                                {snapshot(after(-time.Hour)), "recheck 1h0m0s"},
		"before its end it does not matter whether the Service answers": {snapshot(after(-time.Hour), answers, scaled(3)), "recheck 1h0m0s"},
		"one without an end lasts":                                      {snapshot(func(s *decide.Snapshot) { delete(s.Config.Data, "until") }, after(time.Hour)), ""},
		"at its end the workload gets its replicas back, and the page stays": {
			snapshot(), "restore, clear debt, recheck 5m0s",
		},
		"what was given back is not given twice": {
			snapshot(nothingTaken), "recheck 5m0s",
		},
		"a workload that has replicas keeps them": {
			snapshot(scaled(1)), "clear debt, recheck 5m0s",
		},
		"a workload that had none gets none": {
			snapshot(says("replicas", "0")), "clear debt, recheck 5m0s",
		},
		"a workload that is gone gets nothing": {
			snapshot(noWorkload), "clear debt, recheck 5m0s",
		},
		"it ends when the application is back": {
			snapshot(nothingTaken, answers, after(time.Minute)), "delete",
		},
		"an application that never left is left alone": {
			snapshot(scaled(3), answers), "delete",
		},
		"it ends five minutes later, whatever the application does": {
			snapshot(nothingTaken, after(criticalv2.MaintenanceGrace)), "delete",
		},
		"an operator that was down gives back before it ends it": {
			snapshot(after(24 * time.Hour)), "restore, delete",
		},
		"one that is silent has nothing to announce": {
			snapshot(says("announce", "false")), "restore, delete",
		},
		"without the permission to look nothing is deleted, since what is owed would be lost": {
			snapshot(unreadable, after(24*time.Hour)), "stuck, recheck 1m0s",
		},
		"without a workload no permission to look is needed": {
			snapshot(nothingTaken, unreadable, answers), "delete",
		},
		"the end of one that is not valid is not known": {snapshot(says("until", "soon")), "invalid"},
		"one that is not valid and owes nothing is left alone": {
			snapshot(nothingTaken, says("message", "a\nb"), answers, after(24*time.Hour)), "invalid",
		},
		"one that is not valid gives back what it owes, and stays": {
			snapshot(says("message", "a\nb"), answers, after(24*time.Hour)), "invalid, restore, clear debt",
		},
		"one that is not valid gives nothing back before its end": {
			snapshot(says("message", "a\nb"), after(-time.Hour)), "invalid, recheck 1h0m0s",
		},
		"one that names no Service any more is known by its name": {snapshot(says("service", "")), "invalid, restore, clear debt"},
		"one that is not valid needs the permission to look": {
			snapshot(says("announce", "no"), unreadable), "invalid, stuck, recheck 1m0s",
		},
		"one whose debt cannot be read is left to users": {snapshot(says("replicas", "many")), "invalid"},
		"one of another name owes nothing, and is not deleted": {
			snapshot(called("cart-maintenance"), answers), "stuck, recheck 1m0s",
		},
		"one of another name that is not valid owes nothing either": {
			snapshot(called("cart"), says("service", "")), "invalid, stuck, recheck 1m0s",
		},
		"one of any name that owes nothing ends": {
			snapshot(called("planned"), nothingTaken, answers), "delete",
		},
		"of two that owe a workload something the older holds": {
			snapshot(func(s *decide.Snapshot) { s.OlderOwner = "cart-maintenance" }), "stuck, recheck 1m0s",
		},
		"one that is gone is": {snapshot(func(s *decide.Snapshot) { s.Config = nil }), ""},
		"one that is going is left alone": {
			snapshot(func(s *decide.Snapshot) { s.Config.DeletionTimestamp = &metav1.Time{Time: end} }), "",
		},
		"one that lost its label is none": {
			snapshot(func(s *decide.Snapshot) { s.Config.Labels = nil }), "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			before := c.snapshot.Config.DeepCopy()
			g.Expect(summary(decide.Decide(c.snapshot))).To(Equal(c.want))
			g.Expect(c.snapshot.Config).To(Equal(before), "the Snapshot is not changed")
		})
	}
}

// TestEveryMaintenanceComesToAnEnd carries plans out in the order of apply, and is
// interrupted after every write: whatever happens, the workload gets back what it
// had, once, and nothing is left.
func TestEveryMaintenanceComesToAnEnd(t *testing.T) {
	for interrupted := range 4 {
		g := NewWithT(t)
		s, restored, writes := snapshot(), 0, 0
		for round := 0; s.Config != nil; round++ {
			g.Expect(round).To(BeNumerically("<", 10), "it never ends")
			for _, write := range writesOf(decide.Decide(s)) {
				writes++
				if writes == interrupted {
					break // The operator dies here, and starts again.
				}
				if write == "restore" {
					restored++
				}
				carryOut(&s, write)
			}
			s.Now = s.Now.Add(time.Minute)
			s.Answers = s.Config != nil && s.Scale.Replicas > 0
		}
		g.Expect(restored).To(Equal(1))
		g.Expect(s.Scale.Replicas).To(Equal(int32(3)))
	}
}

func writesOf(plan decide.Plan) []string {
	var writes []string
	for part := range strings.SplitSeq(summary(plan), ", ") {
		if part == "restore" || part == "clear debt" || part == "delete" {
			writes = append(writes, part)
		}
	}
	return writes
}

func carryOut(s *decide.Snapshot, write string) {
	switch write {
	case "restore":
		scaled(3)(s)
	case "clear debt":
		s.Config = s.Config.DeepCopy()
		nothingTaken(s)
	case "delete":
		s.Config = nil
	}
}
