//go:build e2e

package e2e

import (
	"os"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// aLongWhile is ten times as long as the operator's lease lasts. Kubernetes' own controllers end
// meanwhile, and are started again with the devcluster.
const aLongWhile = time.Minute

// These scenarios take the API server from all: they are not parallel.
func TestTheOperatorOutlivesItsAPIServer(t *testing.T) {
	if os.Getenv(devcluster) == "" {
		t.Skip("only the control plane of the devcluster can be stopped from here")
	}
	for name, takeAway := range map[string]func(w *world, o *watch){
		"stopped": func(w *world, o *watch) {
			start, _ := w.stopAPIServer()
			o.keeps("shop", aLongWhile)
			start()
		},
		"without its storage": func(w *world, o *watch) {
			start := w.freeze("etcd")
			o.keeps("shop", aLongWhile/3)
			start()
		},
		"killed": func(w *world, _ *watch) {
			w.Expect(syscall.Kill(w.component("kube-apiserver"), syscall.SIGKILL)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			kind := outages["scaled to zero"]
			shop := w.application(kind)
			shop.withPage().ready()
			before := w.operatorProcesses()
			o := shop.watched()
			o.answers("shop")

			takeAway(w, o)
			w.Expect(w.devcluster("up")).To(And(ContainSubstring("is up already"), Not(ContainSubstring("afresh"))),
				"another cluster is without what the tests made")
			w.Expect(operatorRuns(w.ctx)).To(Succeed())
			w.Expect(w.operatorProcesses()).To(Equal(before), "no replica of the operator has ended")

			kind.begin(shop)
			o.answers(thePage)
			shop.standsIn(thePage)
			kind.end(shop)
			shop.isBack()
			o.answers("shop")
			shop.standsBy("shop")
			w.Expect(w.operatorProcesses()).To(Equal(before))
			o.end()
		})
	}
}
