package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/prober"
)

// showVerdict says who answered from when to when, and for how long there was no answer. It is an error if
// the page did not do its part.
func (d *demo) showVerdict(seen *story) error {
	start := seen.segments[0].From
	table := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "from\tto\trequests\t   answered by\n")
	for _, phase := range prober.Phases(seen.segments, settled) {
		total := 0
		for _, count := range phase.Requests {
			total += count
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t   %s\n", seconds(phase.From.Sub(start)), seconds(phase.To.Sub(start)),
			total, who(phase))
	}
	_ = table.Flush()
	d.printf("\n")
	for _, o := range seen.outages {
		answered := seen.byPage(o.began, o.over)
		if answered == 0 {
			return errors.New("the page answered nothing while the shop was away")
		}
		operator := "Operator down"
		if o.operator {
			operator = "Operator up"
		}
		gap := prober.Summarise(cut(seen.segments, o.began, o.over)).Unanswered
		d.done("%s: while the shop was away, the page answered %d requests; without an answer: %s.", operator, answered, seconds(gap))
	}
	if stray := seen.stray(); stray > 0 {
		return fmt.Errorf("the page answered %d requests although the shop was there", stray)
	}
	sum := prober.Summarise(seen.segments)
	d.done("Once the shop was back and kube-proxy had followed, the page answered 0 requests.")
	d.done("Without an answer in all: %s (%d of %d requests), the longest gap %s.", seconds(sum.Unanswered),
		sum.Requests-sum.Answered[shop]-sum.Answered[page], sum.Requests, seconds(sum.LongestGap))
	return nil
}

// byPage counts the requests that the page answered, sent from one moment until another.
func (s *story) byPage(from, to time.Time) int {
	return prober.Summarise(cut(s.segments, from, to)).Answered[page]
}

// stray counts the requests that the page answered outside of all outages.
func (s *story) stray() int {
	count := prober.Summarise(s.segments).Answered[page]
	for _, o := range s.outages {
		count -= s.byPage(o.began, o.over)
	}
	return count
}

// cut returns the segments that begin from one moment until another.
func cut(segments []prober.Segment, from, to time.Time) []prober.Segment {
	var within []prober.Segment
	for _, segment := range segments {
		if !segment.From.Before(from) && segment.From.Before(to) {
			within = append(within, segment)
		}
	}
	return within
}

func who(phase prober.Phase) string {
	text := counts(phase.Requests)
	if why := faults(phase.Faults); why != "" {
		text += " (" + why + ")"
	}
	return text
}

// showStatus prints the CriticalServices as 'kubectl get crisvc -o wide' does.
func (d *demo) showStatus(ctx context.Context) error {
	d.printf("$ %s\n", d.paint(bold, "kubectl get crisvc -o wide"))
	if kubectl := findKubectl(); kubectl != "" {
		command := exec.CommandContext(ctx, kubectl, "get", "crisvc", "-o", "wide")
		command.Env = os.Environ()
		if d.kubeconfig != "" {
			command.Env = append(command.Env, "KUBECONFIG="+d.kubeconfig)
		}
		if output, err := command.Output(); err == nil {
			_, err = d.out.Write(output)
			return err
		}
	}
	// Without a kubectl that works, the server's own table is asked for, as kubectl does.
	path := "/apis/" + criticalv2.GroupVersion.String() + "/criticalservices"
	answer, err := d.cluster.Clientset.Discovery().RESTClient().Get().AbsPath(path).
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(ctx)
	if err != nil {
		return err
	}
	var table metav1.Table
	if err := json.Unmarshal(answer, &table); err != nil {
		return err
	}
	return printTable(d.out, &table)
}

func printTable(out io.Writer, table *metav1.Table) error {
	writer := tabwriter.NewWriter(out, 6, 4, 3, ' ', 0)
	var line []string
	for _, column := range table.ColumnDefinitions {
		line = append(line, strings.ToUpper(column.Name))
	}
	_, _ = fmt.Fprintln(writer, strings.Join(line, "\t"))
	for _, row := range table.Rows {
		line = nil
		for _, cell := range row.Cells {
			if cell == nil {
				cell = ""
			}
			line = append(line, fmt.Sprint(cell))
		}
		_, _ = fmt.Fprintln(writer, strings.Join(line, "\t"))
	}
	return writer.Flush()
}

// findKubectl prefers the kubectl that was built with the cluster.
func findKubectl() string {
	built := filepath.Join("bin", "kubectl")
	if info, err := os.Stat(built); err == nil && info.Mode()&0o111 != 0 {
		return "." + string(filepath.Separator) + built
	}
	found, err := exec.LookPath("kubectl")
	if err != nil {
		return ""
	}
	return found
}

// showEvents prints the events of this run about the Service and its CriticalService.
func (d *demo) showEvents(ctx context.Context) error {
	var events []corev1.Event
	// Events about an object without a namespace are kept in "default".
	for _, place := range []string{namespace, metav1.NamespaceDefault} {
		var list corev1.EventList
		if err := d.cluster.List(ctx, &list, client.InNamespace(place)); err != nil {
			return err
		}
		for _, event := range list.Items {
			if d.relevant(event) {
				events = append(events, event)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return seen(a).Compare(seen(b)) })
	d.printf("\n$ %s\n", d.paint(bold, "kubectl get events -n "+namespace))
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 6, 4, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE")
	for _, event := range events {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s/%s\t%s\n", duration.HumanDuration(time.Since(seen(event))), event.Type,
			event.Reason, strings.ToLower(event.InvolvedObject.Kind), event.InvolvedObject.Name, strings.TrimSpace(event.Message))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := text.WriteTo(d.out)
	return err
}

func (d *demo) relevant(event corev1.Event) bool {
	object := event.InvolvedObject
	ours := object.Name == shop && (object.Namespace == namespace || object.Namespace == "")
	// Event times are cut to the second.
	return ours && !seen(event).Before(d.began.Truncate(time.Second))
}

func seen(event corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	}
	return event.EventTime.Time
}

// showCommands says how to go on playing by hand.
func (d *demo) showCommands() {
	if config := d.kubeconfigPath(); config != "" {
		d.printf("  export KUBECONFIG=%s\n", config)
	}
	if built := findKubectl(); strings.HasPrefix(built, ".") {
		if folder, err := filepath.Abs(filepath.Dir(built)); err == nil {
			d.printf("  export PATH=%s:$PATH\n", folder)
		}
	}
	for _, line := range [][2]string{
		{"See live who answers, in a second terminal:", thisCommand() + " watch"},
		{"Take the shop's Pods away, and bring them back:", "kubectl scale -n " + namespace + " deployment/" + shop + " --replicas=0   # and then 2"},
		{"Stop the operator, and start it again:", "kubectl scale -n " + operatorNamespace + " deployment/" + operatorName + " --replicas=0   # and then 2"},
		{"See the standby and the Pods of the page, and what the operator thinks:", "kubectl get endpointslices,pods -n " + namespace + "; kubectl describe crisvc " + shop},
		{"Change what the page says:", "kubectl edit crisvc " + shop},
		{"Follow the operator's log:", "kubectl logs -n " + operatorNamespace + " -l app.kubernetes.io/name=" + operatorName + " --prefix -f"},
	} {
		d.printf("\n  %s\n  %s\n", d.paint(dim, "# "+line[0]), line[1])
	}
}

// thisCommand is how this program was started; 'go run' leaves no file that could be started again.
func thisCommand() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./test/demo"
	}
	return os.Args[0]
}

func (d *demo) kubeconfigPath() string {
	path := d.kubeconfig
	if path == "" {
		path = os.Getenv("KUBECONFIG")
	}
	if path == "" {
		return ""
	}
	if whole, err := filepath.Abs(path); err == nil && !strings.Contains(path, string(filepath.ListSeparator)) {
		return whole
	}
	return path
}

// diagnose shows what helps to find out why the demo failed, and returns the reason.
func (d *demo) diagnose(ctx context.Context, reason error) error {
	if ctx.Err() != nil {
		return reason
	}
	d.title("The demo failed. What the cluster says")
	if err := d.showStatus(ctx); err != nil {
		d.printf("%v\n", err)
	}
	if err := d.showEvents(ctx); err != nil {
		d.printf("%v\n", err)
	}
	d.printf("\n$ %s\n", d.paint(bold, "kubectl logs -n "+operatorNamespace+" -l app.kubernetes.io/name="+operatorName+" --tail=20"))
	var pods corev1.PodList
	if err := d.cluster.List(ctx, &pods, client.InNamespace(operatorNamespace)); err != nil {
		d.printf("%v\n", err)
	}
	if len(pods.Items) == 0 {
		d.printf("namespace %s has no Pods: the operator does not run\n", operatorNamespace)
	}
	lines := int64(20)
	for _, pod := range pods.Items {
		log, err := d.cluster.Clientset.CoreV1().Pods(operatorNamespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
		if err != nil {
			d.printf("%v\n", err)
			continue
		}
		d.printf("%s\n", bytes.TrimSpace(log))
	}
	return reason
}
