//go:build e2e

package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Kube-proxy has caught up when all requests of a whole second went to the application: it changes
// its rules at most once in a second. It must have done so at the latest followLimit after the
// application was seen to be ready.
const followLimit = 5 * time.Second

func TestAnOutageWhileTheOperatorRuns(t *testing.T) {
	t.Parallel()
	for name, kind := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			shop := w.application(kind)
			shop.withPage().ready()
			shop.answeredBy("shop")
			watching := shop.watchers(kind)
			eachAnswers(watching, "shop")

			kind.begin(shop)
			eachAnswers(watching, thePage)
			shop.standsIn(thePage)
			w.Expect(shop.ownReady(w)).To(BeZero())
			covered := time.Now()
			eachKeeps(watching, thePage, time.Second)
			shop.condition(criticalv2.ConditionOutage, "True", criticalv2.ConditionReasonCovered)

			ended := time.Now()
			kind.end(shop)
			back := shop.isBack()
			eachAnswers(watching, "shop")
			shop.standsBy("shop")
			eachKeeps(watching, "shop", 3*time.Second)
			endOfOutage(watching, kind, covered, ended, back)
		})
	}
}

// TestAnOutageWhileTheOperatorIsDown is the promise of a standby: it needs neither the operator, nor,
// once kube-proxy knows of the outage, the API server. It is not parallel, as all share the operator.
func TestAnOutageWhileTheOperatorIsDown(t *testing.T) {
	names := slices.Sorted(maps.Keys(outages))
	shops, watching := map[string]*application{}, map[string][]*watch{}
	for _, name := range names {
		w := newWorld(t)
		shops[name] = w.application(outages[name])
		shops[name].withPage()
	}
	for _, name := range names {
		shops[name].ready()
		shops[name].answeredBy("shop")
	}
	w := shops[names[0]].world
	startOperator := w.stopOperator()
	for _, name := range names {
		watching[name] = shops[name].watchers(outages[name])
	}

	for _, name := range names {
		eachAnswers(watching[name], "shop")
		outages[name].begin(shops[name])
	}
	for _, name := range names {
		eachAnswers(watching[name], thePage)
		w.Expect(shops[name].ownReady(w)).To(BeZero())
		w.Expect(shops[name].standbyIsReady(w)).To(BeFalse(), "no one has promoted the standby of the Service that was %s", name)
	}
	covered := time.Now()
	var all []*watch
	for _, name := range names {
		all = append(all, watching[name]...)
	}
	eachKeeps(all, thePage, 2*time.Second)
	if startAPIServer, possible := w.stopAPIServer(); possible {
		// Not longer than Kubernetes' own controllers hold out without their leases.
		eachKeeps(all, thePage, 4*time.Second)
		startAPIServer()
		t.Log("while the API server was stopped for 4 s, the page answered every request")
	}

	ended, back := time.Now(), map[string]time.Time{}
	for _, name := range names {
		outages[name].end(shops[name])
	}
	for _, name := range names {
		back[name] = shops[name].isBack()
	}
	eachAnswers(all, "shop")
	eachKeeps(all, "shop", 3*time.Second)
	for _, name := range names {
		t.Logf("a Service that was %s:", name)
		endOfOutage(watching[name], outages[name], covered, ended, back[name])
	}
	startOperator()
	for _, name := range names {
		shops[name].standsBy("shop")
	}
}

func eachAnswers(watching []*watch, who string) {
	for _, o := range watching {
		o.t.Helper()
		o.answers(who)
	}
}

// eachKeeps looks on for a while, the same for all.
func eachKeeps(watching []*watch, who string, while time.Duration) {
	began := time.Now()
	for _, o := range watching {
		o.t.Helper()
		o.kept(who, began, began.Add(while))
	}
}

// endOfOutage holds all that was seen to what an outage may be like.
func endOfOutage(watching []*watch, kind outage, covered, ended, back time.Time) {
	for _, o := range watching {
		o.t.Helper()
		results := o.end()
		now := time.Now()
		if kind.lossless {
			o.Expect(unanswered(results)).To(BeEmpty(), "requests to %s that no one answered", o.what)
		}
		o.Expect(o.seen(covered, ended)).To(And(HaveLen(1), HaveKey(thePage)), "requests to %s while the application was away", o.what)
		o.Expect(o.seen(covered, now)).To(And(HaveLen(2), HaveKey(thePage), HaveKey("shop")), "requests to %s once the page answered", o.what)
		o.Expect(o.seen(back.Add(followLimit), now)).To(And(HaveLen(1), HaveKey("shop")),
			"requests to %s later than %s after the application was back", o.what, followLimit)
	}
}

// TestARolloutThatTakesAllPodsAtOnce is the outage that people make themselves.
func TestARolloutThatTakesAllPodsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.application(outage{})
	change(w, shop.deployment, func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: new(intstr.FromString("100%")), MaxSurge: new(intstr.FromInt32(0)),
			},
		}
	})
	shop.withPage().ready()
	o := shop.watched()
	o.answers("shop")

	change(w, shop.deployment, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec = politePod("shop-next")
		// Long enough for the page to be seen in between.
		d.Spec.Template.Spec.Containers[0].ReadinessProbe.InitialDelaySeconds = 15
	})
	o.answers(thePage)
	shop.isBack()
	o.answers("shop-next")
	shop.standsBy("shop-next")
	o.keeps("shop-next", 3*time.Second)
	results := o.end()
	w.Expect(unanswered(results)).To(BeEmpty(), "requests that no one answered")
	w.Expect(tally(results)).To(And(HaveLen(3), HaveKey("shop"), HaveKey(thePage), HaveKey("shop-next")))
}
