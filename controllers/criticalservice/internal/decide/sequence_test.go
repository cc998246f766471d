package decide_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
)

// TestSequences lets the neighbours act in random order on what the operator
// may see late, checks after every step what must never be, and at the end that
// the operator comes to rest in the right place.
func TestSequences(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld()
			random := rand.New(rand.NewPCG(seed, 1))
			for range 60 {
				w.step(random)
				expectNothingLost(g, w, func() { w.reconcile() })
				expectCovered(g, w.live(), w.text())
			}
			g.Expect(w.settle()).NotTo(Equal(-1), "the operator never rests:\n%s", w.text())
			expectRightPlace(g, w)
		})
	}
}

// expectNothingLost checks the invariants over one step of the operator.
func expectNothingLost(g Gomega, w *world, reconcile func()) {
	before := w.live()
	reconcile()
	after := w.live()

	alive := 0
	for _, pod := range after.Pods {
		if pod.DeletionTimestamp == nil {
			alive++
		}
	}
	g.Expect(alive).To(BeNumerically("<=", 1), "two fallbacks:\n%s", w.text())

	asked := len(w.truth.Policies) > 0 && !w.realReady(before)
	if asked && w.answered(before) {
		g.Expect(w.answered(after)).To(BeTrue(), "what answered in an outage was taken away:\n%s", w.text())
	}
	for _, pod := range before.Pods {
		now := w.pods[pod.Name]
		if now == nil || now.UID != pod.UID || len(w.truth.Policies) == 0 || len(pod.Status.Conditions) == 0 {
			continue
		}
		_, wasReleased := render.ReleasedAt(&pod)
		_, isReleased := render.ReleasedAt(now)
		deleted := pod.DeletionTimestamp == nil && now.DeletionTimestamp != nil
		if deleted || isReleased && !wasReleased {
			g.Expect(w.realReady(before) || answering(after, after.Standby)).To(BeTrue(), "a ready fallback was taken away in an outage:\n%s", w.text())
		}
	}
}

// answered tells from the ground truth whether something of ours answers: a
// fallback Pod that the Service selects, or one that is published.
func (w *world) answered(s decide.Snapshot) bool {
	for _, slice := range s.Slices {
		for _, endpoint := range slice.Endpoints {
			pod := w.pods[endpoint.TargetRef.Name]
			if pod == nil || pod.UID != endpoint.TargetRef.UID || !protection.IsFallback(pod) {
				continue
			}
			runs := pod.Status.Phase != corev1.PodFailed && len(pod.Status.Conditions) > 0
			if runs && ptr.Deref(endpoint.Conditions.Ready, true) {
				return true
			}
		}
	}
	return answering(s, s.Standby)
}

// realReady tells from the ground truth whether the slices list a ready endpoint
// that is no fallback.
func (w *world) realReady(s decide.Snapshot) bool {
	for _, slice := range s.Slices {
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef.Name == "shop-1" && ptr.Deref(endpoint.Conditions.Ready, true) {
				return true
			}
		}
	}
	return false
}

func expectRightPlace(g Gomega, w *world) {
	want, plan := 0, decide.Decide(w.live())
	switch {
	case len(w.truth.Policies) == 0:
		g.Expect(plan.State).To(BeEmpty(), w.text())
	case w.realReady(w.truth):
		g.Expect(plan.State).To(Equal(criticalv2.StateArmed), w.text())
	default:
		want = 1
		g.Expect(plan.State).To(Equal(criticalv2.StateCovered), w.text())
	}
	if want == 1 || plan.Governor != nil {
		pod := plan.Governor.Protection().Fallback.PodTemplate
		announced := plan.Maintenance != nil // Then it is the page that stands in.
		switch {
		case pod == nil, announced:
			want = 0
		case pod.Activation == criticalv2.ActivationStandby:
			want = 1
		}
		byLabels := !announced && pod != nil && pod.Publish == criticalv2.PublishSelectorLabels
		g.Expect(w.requests()).To(Equal(map[bool]int{true: 0, false: len(w.truth.Service.Spec.IPFamilies)}[byLabels]), w.text())
		for _, slice := range w.standby {
			uid := protection.StandsFor(slice)
			g.Expect(uid == "" || w.isPod(uid)).To(BeTrue(), "%s publishes a Pod that is gone:\n%s", slice.Name, w.text())
		}
	} else {
		g.Expect(w.standby).To(BeEmpty(), w.text())
	}
	fallbacks := 0
	for _, pod := range w.pods {
		if protection.IsFallback(pod) {
			fallbacks++
		}
	}
	g.Expect(fallbacks).To(Equal(want), w.text())
}

func (w *world) text() string { return strings.Join(w.log, "\n") + "\n" }

// TestStories compares the operator's doings in a few scripted stories with a
// golden log, so that a change of behaviour shows as a change of the story.
func TestStories(t *testing.T) {
	type act struct {
		text string
		do   func(*world)
	}
	var (
		published = act{"slices are published and seen", func(w *world) { w.publish(); w.deliverAll() }}
		realReady = act{"a real Pod gets ready", func(w *world) { w.addReal("shop-1"); w.change("shop-1", readyPod) }}
		realGone  = act{"the real Pod is gone", func(w *world) { delete(w.pods, "shop-1") }}
		covered   = act{"the fallback gets ready", func(w *world) { w.change(fallbackName, readyPod) }}
		drained   = act{"ten seconds go by", func(w *world) { w.now = w.now.Add(10e9) }}
		reaped    = act{"what is ending has gone", func(w *world) { w.reap() }}
	)
	stories := map[string][]act{
		"outage and recovery": {
			realGone, published, covered, published, realReady, published, drained, published, reaped, published,
		},
		"an outage again before the fallback has gone": {
			realGone, published, covered, published, realReady, published, realGone, published, published,
		},
		"the slices are late": {
			realGone,
			{"only Pods are seen", func(w *world) { w.deliverPods() }},
			published, covered, published, realReady,
			{"the operator restarts on old slices", func(w *world) { w.deliverAll(); w.seen.Attempt = nil }},
			published, drained, published, reaped, published,
		},
		"denied, then allowed": {
			realGone,
			{"the quota is full", func(w *world) { w.deny = true }},
			published,
			{"half a minute goes by", func(w *world) { w.now = w.now.Add(30e9) }},
			published,
			{"the quota has room, half a minute later", func(w *world) { w.deny = false; w.now = w.now.Add(30e9) }},
			published, covered, published,
		},
		"the policy goes in an outage": {
			realGone, published, covered, published,
			{"the policy goes", func(w *world) { w.truth.Policies = nil }},
			published, reaped, published,
		},
	}
	for name, acts := range stories {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld()
			realReady.do(w)
			published.do(w)
			w.reconcile()
			for _, act := range acts {
				w.note("%s", act.text)
				act.do(w)
				w.reconcile()
			}
			golden := filepath.Join("testdata", strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-")+".golden.log")
			if *update {
				g.Expect(os.WriteFile(golden, []byte(w.text()), 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(golden)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(w.text()).To(Equal(string(want)))
		})
	}
}
