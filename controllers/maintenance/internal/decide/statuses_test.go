package decide_test

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
)

var update = flag.Bool("update", false, "write the golden files again")

// The ways in which a Maintenance can stand. The objects that follow from them are what
// test/gitops lets GitOps tools judge.
func TestTheStatusesThatGitOpsToolsJudge(t *testing.T) {
	g := NewWithT(t)
	now := at(t, "2026-11-22 02:30")
	once := func(until time.Duration, changes ...func(*criticalv2.Maintenance)) *criticalv2.Maintenance {
		m := &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{Services: []string{"shop"}, Until: new(metav1.NewTime(now.Add(until)))}}
		for _, change := range changes {
			change(m)
		}
		return m
	}
	drill := func(m *criticalv2.Maintenance) { m.Spec.Purpose = criticalv2.PurposeDrill }
	restores := func(m *criticalv2.Maintenance) {
		m.Spec.Restore = &criticalv2.WorkloadReplicas{Deployment: "shop", Replicas: 3}
	}
	owes := func(m *criticalv2.Maintenance) { m.Status.Owed = m.Spec.Restore }
	has := func(replicas int32) decide.Workload {
		return decide.Workload{Scale: &decide.Scale{Replicas: replicas}}
	}
	refused := decide.Workload{Refused: `no Role gives it the verb "restore" on maintenances "shop/deployments.apps/shop"`}

	var objects bytes.Buffer
	for _, one := range []struct {
		name        string
		maintenance *criticalv2.Maintenance
		workload    decide.Workload
		answers     bool
	}{
		{name: "scheduled", maintenance: recurring("0 3 * * SUN", time.Hour)},
		{name: "announced", maintenance: once(time.Hour)},
		{name: "awaiting-application", maintenance: once(-time.Second)},
		{name: "ended", maintenance: once(-time.Hour), answers: true},
		{name: "drill", maintenance: once(time.Hour, drill)},
		{name: "owed", maintenance: once(time.Hour, restores), workload: has(3)},
		{name: "nothing-taken", maintenance: once(time.Hour, restores), workload: has(0)},
		{name: "restored", maintenance: once(-time.Hour, restores, owes), workload: has(0), answers: true},
		{name: "never-permitted", maintenance: once(-time.Hour, restores), answers: true},
		{name: "schedule-invalid", maintenance: recurring("0 2 * * SON", time.Hour)},
		{name: "not-permitted", maintenance: once(time.Hour, restores), workload: refused},
		{name: "restore-failed", maintenance: once(-time.Hour, restores, owes), workload: refused},
	} {
		m := one.maintenance
		m.SetGroupVersionKind(criticalv2.MaintenanceKind)
		m.Namespace, m.Name, m.UID, m.Generation = "web", one.name, types.UID(one.name), 1
		m.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Hour).UTC())
		m.Status = decide.Decide(decide.Snapshot{
			Now: now.UTC(), Maintenance: m, Workload: one.workload, Answers: one.answers,
			Operator: "system:serviceaccount:critical-service-system:critical-service-operator",
		}).Status
		object, err := yaml.Marshal(m)
		g.Expect(err).NotTo(HaveOccurred())
		objects.WriteString("---\n")
		objects.Write(object)
	}
	const golden = "testdata/statuses/maintenances.golden.yaml"
	if *update {
		g.Expect(os.WriteFile(golden, objects.Bytes(), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(golden)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects.String()).To(Equal(string(want)), "read what has changed; then go test ./controllers/maintenance/internal/decide -update")
}
