//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// All that a team wants of the plugin, as an editor of one namespace and nothing else.
func TestATeamDrillsAndMaintainsItsServiceByThePlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	application := w.application(outages["scaled to zero"])
	shop := application.withTeam(w.team(), pageSentence).ready()
	run := w.teamSucceeds
	w.Expect(run("status")).To(MatchRegexp(`shop\s+.*Armed`))
	o := shop.watched()
	o.answers("shop")
	w.Expect(run("drill", "svc/shop", "--live", "--for=15s", "--max-gap=20s", "--yes", "--without-operator")).To(ContainSubstring("shop"))
	o.answers("shop")
	results := o.end()
	w.Expect(unanswered(results)).To(BeEmpty())
	w.Expect(tally(results)).To(HaveKey(thePage))
	w.Expect(w.replicas(application.deployment)).To(Equal(int32(2)))
	w.Eventually(func() string { return run("history") }).Should(ContainSubstring("live drill"))

	run("maintenance", "on", "svc/shop", "--message", moving, "--scale-down", "--yes")
	shop.announces(moving, time.Time{})
	w.Expect(run("maintenance", "list")).To(ContainSubstring(moving))
	w.Expect(run("explain", "svc/shop")).To(ContainSubstring("maintenance"))
	run("maintenance", "off", "svc/shop", "--yes")
	shop.answeredBy("shop")
	shop.nothingIsLeft()
	w.Expect(w.replicas(application.deployment)).To(Equal(int32(2)))
}

func TestATeamReadsTheStateOfItsServicesByThePlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team := w.asTeam()
	team.deployment("shop")
	shop := team.service("shop").withTeam(team.Client, pageSentence).ready()
	w.Expect(w.teamSucceeds("status", "-o", "wide")).To(MatchRegexp(
		`(?m)^NAME +STATE +SINCE +READY +FALLBACK +FAILOVER +GOVERNOR +TIER +REASON .*\nshop +Armed +\S+ +1/1 +page +\S+ +ServiceFallback/shop +Named +StandbyReady `))

	// What concerns the whole installation is for an administrator to check; the Service is checked.
	w.Eventually(func(g Gomega) {
		code, stdout, stderr := w.teamRuns("doctor", "-o", "json")
		var report checkup
		g.Expect(json.Unmarshal([]byte(stdout), &report)).To(Succeed(), stdout+stderr)
		g.Expect(report.Services).To(Equal(1))
		g.Expect(report.Findings).NotTo(ContainElement(HaveField("Severity", problem)))
		subject := "service/" + shop.namespace + "/shop"
		g.Expect(report.Findings).To(ContainElements(
			And(HaveField("Subject", subject), HaveField("Check", "protected"), HaveField("Severity", ok), HaveField("What", HavePrefix("ServiceFallback shop (tier Named): the Service is Armed"))),
			And(HaveField("Subject", subject), HaveField("Check", "listening"), HaveField("Severity", ok)),
			And(HaveField("Subject", "installation"), HaveField("Check", "services"), HaveField("What", ContainSubstring("list CriticalServices"))),
		))
		g.Expect(code).To(Equal(0), "%s%s", stdout, stderr)
	}).Should(Succeed())
}

func TestATeamSaysTheEndOfItsMaintenanceInEveryForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("shop")
	shop := w.service("shop").withTeam(w.team(), pageSentence).ready()
	inThreeHours := time.Now().Add(3 * time.Hour)
	announced := func(until string) *criticalv2.Maintenance {
		w.teamSucceeds("maintenance", "on", "svc/shop", "--message", moving, "--until", until, "--scale-down=false")
		m := shop.maintenance()
		w.refresh(m)
		return m
	}

	before := time.Now().Truncate(time.Second)
	length := announced("2h").Spec.Until
	w.Expect(length.Time).To(And(BeTemporally(">=", before.Add(2*time.Hour)), BeTemporally("<=", time.Now().Add(2*time.Hour))), "a duration")
	shop.becomes(criticalv2.StateArmed, criticalv2.ReasonMaintenance)
	date := inThreeHours.Truncate(time.Second).In(time.FixedZone("", 3600))
	w.Expect(announced(date.Format(time.RFC3339)).Spec.Until.Time).To(BeTemporally("==", date), "a date")
	w.Expect(announced(inThreeHours.Format("15:04")).Spec.Until.Time).To(BeTemporally("==", inThreeHours.Truncate(time.Minute)), "a time of the day")
	w.Expect(w.teamSucceeds("maintenance", "list")).To(MatchRegexp(`(?m)^shop +shop +Armed +Announced .*` + moving))
	w.Expect(announced("").Spec.Until).To(BeNil(), "no end")

	for until, says := range map[string]string{
		"tomorrow": "is neither a date with time and zone", time.Now().Add(-time.Hour).Format(time.RFC3339): "has passed: name a time ahead",
	} {
		code, _, stderr := w.teamRuns("maintenance", "on", "svc/shop", "--until", until, "--scale-down=false")
		w.Expect(code).To(Equal(exitError), until)
		w.Expect(stderr).To(ContainSubstring(says))
	}
	w.teamSucceeds("maintenance", "off", "svc/shop", "--yes")
	shop.nothingIsLeft()
	shop.ready()
}

func TestATeamAppliesAMaintenanceThatRecurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team := w.asTeam()
	application := team.deployment("shop")
	shop := team.service("shop").withTeam(team.Client, pageSentence).ready()
	// A window begins each day in this minute, and lasts an hour.
	now := time.Now().UTC()
	objects, err := cluster.Decode(fmt.Appendf(nil, `
apiVersion: mycrd.com/v2
kind: Maintenance
metadata:
  namespace: %s
  name: nightly
spec:
  services:
  - shop
  message: %s
  recurring:
    schedule: "%d %d * * *"
    timeZone: UTC
    duration: 1h
`, w.namespace, moving, now.Minute(), now.Hour()))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(team.Apply(w.ctx, fieldManager, objects...)).To(Succeed())
	shop.becomes(criticalv2.StateArmed, criticalv2.ReasonMaintenance)
	team.scale(application, 0)
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonMaintenance)
	var nightly criticalv2.Maintenance
	w.Eventually(func(g Gomega) {
		g.Expect(team.Get(w.ctx, client.ObjectKeyFromObject(objects[0]), &nightly)).To(Succeed())
		g.Expect(nightly.Status.Until).NotTo(BeNil())
	}).Should(Succeed(), "the end of the window that runs")
	shop.announces(moving, nightly.Status.Until.Time)
	w.Expect(w.teamSucceeds("maintenance", "list")).To(MatchRegexp(`(?m)^nightly +shop +Covered +Announced .*` + moving))

	team.scale(application, 1)
	shop.answeredBy("shop")
	team.remove(objects[0])
	shop.ready()
}
