//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// All that a team wants of the plugin, as an editor of one namespace and nothing else.
func TestATeamDrillsAndMaintainsItsServiceByThePlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	application := w.deployment("shop")
	shop := w.service("shop").withTeam(w.team(), pageSentence).ready()
	team := w.namespace + "-team"
	run := func(arguments ...string) string {
		code, stdout, stderr := w.runPlugin(append([]string{"--as=" + team, "--as-group=system:authenticated", "-n", w.namespace}, arguments...)...)
		w.Expect(code).To(Equal(0), "%v\n%s%s", arguments, stdout, stderr)
		return stdout
	}
	w.Expect(run("status")).To(MatchRegexp(`shop\s+.*Armed`))
	o := shop.watched()
	o.answers("shop")
	w.Expect(run("drill", "svc/shop", "--live", "--for=5s", "--yes", "--without-operator")).To(ContainSubstring("shop"))
	o.answers("shop")
	results := o.end()
	w.Expect(unanswered(results)).To(BeEmpty())
	w.Expect(tally(results)).To(HaveKey(thePage))
	w.Expect(w.replicas(application)).To(Equal(int32(1)))
	w.Eventually(func() string { return run("history") }).Should(ContainSubstring("live drill"))

	run("maintenance", "on", "svc/shop", "--message", moving, "--scale-down", "--yes")
	shop.announces(moving, time.Time{})
	w.Expect(run("maintenance", "list")).To(ContainSubstring(moving))
	w.Expect(run("explain", "svc/shop")).To(ContainSubstring("maintenance"))
	run("maintenance", "off", "svc/shop", "--yes")
	shop.answeredBy("shop")
	shop.nothingIsLeft()
	w.Expect(w.replicas(application)).To(Equal(int32(1)))
}
