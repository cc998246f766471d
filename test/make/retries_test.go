package make_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/internal/checkout"
)

// failing is a gotestsum whose first run has a test that fails.
const failing = `#!/usr/bin/env bash
echo "gotestsum $*" >> "$CALLS"
report=${4:?}
case $report in *.retry.xml) exit "${RETRIED:-0}" ;; esac
printf '<testsuites><testsuite name="p"><testcase classname="p" name="TestA"><failure>it is 3</failure></testcase></testsuite></testsuites>' > "$report"
exit 1
`

// The second would be the only one that is tested.
func TestPackagesInTwoArgumentsAreRefused(t *testing.T) {
	g := NewWithT(t)
	copied := checkout.New(t, root)
	said, err := copied.Run(t, "hack/gotest.sh", "unit", "./a", "./b")
	g.Expect(err).To(HaveOccurred())
	g.Expect(said).To(ContainSubstring("packages are one argument: './a ./b'"))
}

func TestAFailureIsNotHiddenByARetry(t *testing.T) {
	const first, again = "gotestsum --format standard-verbose --junitfile ROOT/bin/reports/unit.xml --packages ./... -- -count=1",
		"gotestsum --format standard-verbose --junitfile ROOT/bin/reports/unit.retry.xml --packages p -- -run ^(TestA)$ -count=1"
	listed := "p TestA " + time.Now().UTC().Format(time.DateOnly) + " issue 17\n"
	copied := checkout.New(t, root)
	NewWithT(t).Expect(copied.Run(t, "rm", "bin/tools")).To(BeEmpty())
	copied.Write(t, "bin/tools/gotestsum", failing, 0o755)
	environment := slices.Concat(copied.Env, []string{"CALLS=" + copied.Path("calls"), "FORMAT=", "RERUN_FAILS=", "RETRIED="})
	for sentence, c := range map[string]struct {
		list, says  string
		environment []string
		calls       []string
		isGreen     bool
	}{
		"it fails the run at once": {
			"", "not retried: p TestA is not in hack/retries.txt", []string{"RERUN_FAILS=1"}, []string{first}, false,
		},
		"but that of a test that is listed": {
			listed, "once more, as hack/retries.txt allows: ^(TestA)$ in p", []string{"RERUN_FAILS=1"}, []string{first, again}, true,
		},
		"even then it must pass":         {listed, "", []string{"RERUN_FAILS=1", "RETRIED=1"}, []string{first, again}, false},
		"outside CI nothing runs again":  {listed, "", nil, []string{first}, false},
		"nor where it is switched off":   {listed, "", []string{"RERUN_FAILS=0"}, []string{first}, false},
		"nor by a list that has no form": {"TestA", "not PACKAGE TEST YYYY-MM-DD issue NUMBER", []string{"RERUN_FAILS=1"}, []string{first}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			copied.Write(t, "calls", "", 0o600)
			copied.Write(t, "hack/retries.txt", c.list, 0o600)
			copied.Env = slices.Concat(environment, c.environment)
			said, err := copied.Run(t, "hack/gotest.sh", "unit", "./...", "-count=1")
			g.Expect(err == nil).To(Equal(c.isGreen), said)
			g.Expect(said).To(ContainSubstring(c.says))
			var calls string
			for _, call := range c.calls {
				calls += call + "\n"
			}
			g.Expect(copied.Read(t, "calls")).To(Equal(strings.ReplaceAll(calls, "ROOT", copied.Root)))
		})
	}
}
