package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/operator"
	"github.com/critical-service/operator/workloads/internal/settings"
)

var shared *testenv.Cluster

func TestMain(m *testing.M) {
	process.Main(runOperator, func() int {
		testenv.MainOf(m, installed, controllers.Scheme, &shared, func(context.Context) error { return nil })
		return 0
	})
}

func runOperator(ctx context.Context) error {
	s, err := settings.Bind(pflag.NewFlagSet("manager", pflag.ContinueOnError), os.LookupEnv)()
	if err != nil {
		return err
	}
	return operator.Run(ctx, s)
}

func TestASmallWorldSettlesAndNothingIsWrittenAnyMore(t *testing.T) {
	g := NewWithT(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(kubeconfig, shared.OperatorKubeconfig, 0o600)).To(Succeed())
	b := &bench{
		client: shared.Client, world: "settled-" + rand.String(8), count: 3, length: time.Second,
		calm: 5 * time.Second, // Longer than until a write that met a conflict is sent again.
		start: func(variables ...string) (*process.Process, error) {
			return process.Start(t, kubeconfig, operator.Namespace, variables...), nil
		},
	}
	t.Cleanup(func() {
		for _, kind := range []client.Object{&workloadsv1.Database{}, &workloadsv2.AppConfig{}} {
			g.Expect(b.client.DeleteAllOf(context.WithoutCancel(t.Context()), kind, client.InNamespace(b.namespaceOf(0)))).To(Succeed())
		}
	})
	looks, err := b.measure(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(looks).To(HaveLen(2))
	for _, l := range looks {
		g.Expect(l.writes()).To(BeZero(), "%s", l)
		g.Expect(l.rss).To(BeNumerically(">", 1<<20))
		g.Expect(l.peak).To(BeNumerically(">=", l.rss))
	}
	version, err := testenv.Version(shared.Admin)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version).To(HavePrefix("v1."))
}

func TestOnlyATargetThatIsCountedFailsTheRun(t *testing.T) {
	for name, test := range map[string]struct {
		spoil            func(*look)
		printed, problem string
	}{
		"all is met": {spoil: func(*look) {}},
		"CPU, which depends on the machine": {
			spoil: func(l *look) { l.cpu = 2 * time.Second }, printed: "a restart: CPU: 3.3 %, and should be 1 % of one core",
		},
		"a write": {
			spoil: func(l *look) { l.requests["PATCH"] = 1 }, printed: "writes: 1, and should be 0", problem: "1 of 3 targets",
		},
		"memory": {
			spoil: func(l *look) { l.rss = 101 << 20 }, printed: "resident memory: 101 MiB, and should be 100 MiB", problem: "1 of 3 targets",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			l := look{since: "a restart", length: time.Minute, cpu: 300 * time.Millisecond, rss: 80 << 20, peak: 90 << 20, requests: measure.Requests{"PUT": 60}}
			test.spoil(&l)
			var printed bytes.Buffer
			err := measure.Missed(&printed, judge([]look{l}))
			g.Expect(printed.String()).To(ContainSubstring(test.printed))
			if test.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
		})
	}
}

func TestTheTableHoldsWhatWasMeasured(t *testing.T) {
	g := NewWithT(t)
	looks := []look{{since: "a restart", length: time.Minute, cpu: 300 * time.Millisecond, rss: 80 << 20, peak: 90 << 20, requests: measure.Requests{"PUT": 60}}}
	text := markdown("v1.37.1", options{count: 500, length: time.Minute}, looks, judge(looks))
	g.Expect(text).To(HavePrefix("500 Databases with volumes and 500 AppConfigs"))
	g.Expect(text).To(ContainSubstring("| a restart | 0 | PUT 60 | 0.30 s | 80 MiB (90 MiB) |"))
	g.Expect(text).To(ContainSubstring("| CPU | a restart | 1 % of one core | 0.5 % | met |"))
}
