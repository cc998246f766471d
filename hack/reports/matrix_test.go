package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAVersionHasOneRowOfTheMatrix(t *testing.T) {
	const before, after = "# Versions\n\n| Kubernetes | a | b | c | d | e | Date |\n|---|---|---|---|---|---|---|\n", "\nThe end.\n"
	report := func(cases string) string {
		return `<testsuites><testsuite name="pkg">` + cases + `</testsuite></testsuites>`
	}
	const passed, failed, skipped = `<testcase classname="pkg" name="A"/>`, `<testcase classname="pkg" name="B"><failure>why</failure></testcase>`,
		`<testcase classname="pkg" name="C"><skipped/></testcase>`
	for sentence, c := range map[string]struct {
		kubernetes, rows, want string
		reports                map[string]string
	}{
		"the first has no reports of what it was not tried with": {
			kubernetes: "1.28.15", reports: map[string]string{"unit.xml": report(passed + passed + skipped), "consumers-iptables.xml": report(passed)},
			want: "| 1.28.15 | 2 | - | - | - | 1 | 2026-11-26 |\n",
		},
		"another patch release replaces the row, and a failure is not left out": {
			kubernetes: "1.31.5", rows: "| 1.37.2 | 1 | 1 | 1 | 1 | 1 | 2026-11-01 |\n| 1.31.4 | 9 | 9 | 9 | 9 | 9 | 2026-11-01 |\n| 1.28.15 | 1 | - | 1 | - | 1 | 2026-11-01 |\n",
			reports: map[string]string{"unit.xml": report(passed + failed), "workloads.xml": report(passed)},
			want:    "| 1.37.2 | 1 | 1 | 1 | 1 | 1 | 2026-11-01 |\n| 1.31.5 | 1, 1 failed | 1 | - | - | - | 2026-11-26 |\n| 1.28.15 | 1 | - | 1 | - | 1 | 2026-11-01 |\n",
		},
		"a failure in the second report of make test is not left out": {
			kubernetes: "1.37.2", reports: map[string]string{"unit.xml": report(passed), "devcluster.xml": report(failed)},
			want: "| 1.37.2 | 1, 1 failed | - | - | - | - | 2026-11-26 |\n",
		},
		"a target that failed though no test did is not left out": {
			kubernetes: "1.37.2", reports: map[string]string{"unit.xml": report(passed), "failed-test.xml": report(failed), "failed-e2e.xml": report(failed)},
			want: "| 1.37.2 | 1, 1 failed | - | 0, 1 failed | - | - | 2026-11-26 |\n",
		},
		"both operators have end-to-end tests": {
			kubernetes: "1.37.2", reports: map[string]string{"e2e.xml": report(passed + passed), "e2e-workloads.xml": report(passed)},
			want: "| 1.37.2 | - | - | 2 | 1 | - | 2026-11-26 |\n",
		},
		"both modes of kube-proxy are one cell": {
			kubernetes: "1.37.2", reports: map[string]string{"consumers-iptables.xml": report(passed), "consumers-nftables.xml": report(passed + passed)},
			want: "| 1.37.2 | - | - | - | - | 3 | 2026-11-26 |\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			document := filepath.Join(folder, "versions.md")
			g.Expect(os.WriteFile(document, []byte(before+c.rows+after), 0o600)).To(Succeed())
			for name, content := range c.reports {
				g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600)).To(Succeed())
			}
			g.Expect(matrix(document, c.kubernetes, folder, time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))).To(Succeed())
			written, err := os.ReadFile(document)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(written)).To(Equal(before + c.want + after))
		})
	}
}
