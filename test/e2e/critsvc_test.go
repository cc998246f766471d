//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// What docs/plugin.md promises to programs, as far as scenarios read it: the exit codes,
// and the documents that commands print with -o json.
const (
	// exitNo is the code of a command that was carried out, and whose answer is no.
	exitNo = 1
	// exitError is the code of a command that could not be carried out.
	exitError = 2
)

type explanation struct {
	Protected bool                                     `json:"protected"`
	Status    *struct{ State criticalv2.ServiceState } `json:"status"`
	Cause     *attributedCause                         `json:"cause"`
	Answers   struct{ By string }                      `json:"answers"`
	Next      string                                   `json:"next"`
	Failover  *struct{ Status string }                 `json:"failover"`
	Governor  *struct{ Name string }                   `json:"governor"`
	Nearest   []struct{ Name string }                  `json:"nearest"`
	Ports     []struct{ FallbackPort int }             `json:"ports"`
	Events    []struct{ Reason string }                `json:"events"`
}

type attributedCause struct{ Reason, By string }

type listing struct {
	Services []struct {
		Name      string
		State     criticalv2.ServiceState
		Endpoints struct{ Ready int }
		Fallback  struct{ Kind string }
		Cause     *criticalv2.OutageCause
	} `json:"services"`
}

type past struct {
	Outages []struct {
		Ended              *metav1.MicroTime
		Fallback           string
		DurationSeconds    float64
		TimeToCoverSeconds *float64
		Cause              *criticalv2.OutageCause
	} `json:"outages"`
}

// severity is that of a finding of the doctor.
type severity string

const (
	ok      severity = "ok"
	warning severity = "warning"
	problem severity = "problem"
)

type checkup struct {
	Verdict  severity  `json:"verdict"`
	Services int       `json:"services"`
	Findings []finding `json:"findings"`
}

type finding struct {
	Check, Subject, What string
	Severity             severity
}

type drillResult struct {
	Good   bool `json:"good"`
	DryRun struct {
		Endpoints []drilledEndpoint
		Problems  []string
	} `json:"dryRun"`
	Live *liveDrill `json:"live"`
}

type drilledEndpoint struct {
	Port, Protocol, Status, Line, Title, Problem string
	Tries, Answered                              int
	P50Milliseconds, MaxMilliseconds             float64
}

type liveDrill struct {
	Recovered bool
	Problems  []string
	Ports     []struct {
		Distinct                                                bool
		ByApplication, ByFallback                               int
		LongestGapMilliseconds                                  float64
		FallbackAfterMilliseconds, ApplicationAfterMilliseconds *float64
	}
}

type maintenances struct {
	Maintenances []struct{ Service string } `json:"maintenances"`
}

// runPlugin runs a command of the plugin in the scenario's namespace, as a user does. The end of
// the scenario's context interrupts it.
func (w *world) runPlugin(arguments ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	arguments = append(arguments, "--kubeconfig="+w.Kubeconfig, "--namespace="+w.namespace)
	command := exec.CommandContext(w.ctx, plugin, arguments...)
	command.Stdout, command.Stderr = &out, &errOut
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 2 * time.Minute
	if err := command.Run(); command.ProcessState == nil {
		return -1, "", err.Error()
	}
	return command.ProcessState.ExitCode(), out.String(), errOut.String()
}

// printed is the document that a command of the plugin prints.
func printed[Document any](w *world, g Gomega, arguments ...string) Document {
	code, stdout, stderr := w.runPlugin(append(arguments, "-o", "json")...)
	g.Expect(code).To(Equal(0), stderr)
	var document Document
	g.Expect(json.Unmarshal([]byte(stdout), &document)).To(Succeed(), stdout)
	return document
}
