package diagnosis

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/internal/text/quote"
)

// describe says what a probe asks.
func describe(probe *corev1.Probe) string {
	switch {
	case probe.HTTPGet != nil:
		scheme := strings.ToUpper(cmp.Or(string(probe.HTTPGet.Scheme), "HTTP"))
		return fmt.Sprintf("%s GET %s on port %s", scheme, quote.Discreet(quote.Line(cmp.Or(probe.HTTPGet.Path, "/"))), probe.HTTPGet.Port.String())
	case probe.TCPSocket != nil:
		return "a connection to port " + probe.TCPSocket.Port.String()
	case probe.GRPC != nil:
		return fmt.Sprintf("gRPC health on port %d", probe.GRPC.Port)
	case probe.Exec != nil && len(probe.Exec.Command) > 0:
		// Arguments may contain secrets.
		return "command " + name(quote.Line(probe.Exec.Command[0]))
	default:
		return "of an unknown kind"
	}
}

// period, threshold and delay of a probe; the API server sets the defaults.
func period(probe *corev1.Probe) time.Duration {
	return time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
}

func allowance(probe *corev1.Probe) time.Duration {
	return time.Duration(probe.InitialDelaySeconds)*time.Second + time.Duration(max(probe.FailureThreshold, 1))*period(probe)
}

// probes says which probe keeps a running container from being ready.
func probes(e *Evidence, pod *corev1.Pod) *finding {
	for _, c := range containersOf(pod) {
		running := c.status.State.Running
		if running == nil || c.status.Ready || c.initial {
			continue
		}
		started := c.status.Started != nil && *c.status.Started
		switch {
		case !started && c.StartupProbe != nil:
			return pending(c, "startup", c.StartupProbe)
		case started && c.ReadinessProbe != nil:
			return readiness(e, pod, c, running.StartedAt.Time)
		}
	}
	return nil
}

// pending says that a probe has not succeeded yet, which is no failure so far: a
// startup probe that fails for too long ends its container.
func pending(c container, kind string, probe *corev1.Probe) *finding {
	return found(criticalv2.CausePodsStarting, c.Name, fmt.Sprintf("%s of {pod} runs, and its %s probe (%s) has not succeeded yet", c, kind, describe(probe)), "")
}

// readiness says that a readiness probe fails: its container was ready since it
// started, or has had all the time that its probe gives.
func readiness(e *Evidence, pod *corev1.Pod, c container, started time.Time) *finding {
	ready := protection.PodCondition(pod, corev1.PodReady)
	wasReady := ready.Status == corev1.ConditionFalse && ready.LastTransitionTime.After(started.Add(time.Second))
	if !wasReady && e.Now.Sub(started) < max(startup, allowance(c.ReadinessProbe)) {
		return pending(c, "readiness", c.ReadinessProbe)
	}
	return found(criticalv2.CauseProbeFailing, c.Name,
		fmt.Sprintf("%s of {pod} runs, and its readiness probe (%s) fails", c, describe(c.ReadinessProbe)), "").quoting(": ", answer(e, pod, c, "Readiness"))
}

// killedByProbe says that the kubelet ends a container because a probe fails: an event
// reports the failed probe, and the container did not end by itself.
func killedByProbe(e *Evidence, pod *corev1.Pod, c container) *finding {
	if killed(e, pod, c, "startup") && c.StartupProbe != nil {
		return found(criticalv2.CauseProbeFailing, c.Name,
			fmt.Sprintf("%s of {pod} is ended again and again, because its startup probe (%s) fails", c, describe(c.StartupProbe)), "").quoting(": ", answer(e, pod, c, "Startup"))
	}
	if killed(e, pod, c, "liveness") && c.LivenessProbe != nil {
		return found(criticalv2.CauseCrashLoop, c.Name,
			fmt.Sprintf("%s of {pod} is ended again and again, because its liveness probe (%s) fails", c, describe(c.LivenessProbe)), "").quoting(": ", answer(e, pod, c, "Liveness"))
	}
	return nil
}

// killed reports whether an event says that the kubelet ended a container because of a probe.
func killed(e *Evidence, pod *corev1.Pod, c container, kind string) bool {
	return e.latest(pod.UID, func(event *eventsv1.Event) bool {
		return event.Reason == "Killing" && isProbeKill(event.Note, c.Name, kind)
	}) != nil
}

// answer is what a probe saw when it failed last; empty if no event says it.
func answer(e *Evidence, pod *corev1.Pod, c container, kind string) string {
	event := e.latest(pod.UID, func(event *eventsv1.Event) bool {
		_, ofProbe := probeAnswer(event.Note, kind)
		field := event.Regarding.FieldPath
		return event.Reason == "Unhealthy" && ofProbe && (field == "" || strings.HasSuffix(field, "{"+c.Name+"}"))
	})
	if event == nil {
		return ""
	}
	text, _ := probeAnswer(event.Note, kind)
	return quote.Program(text)
}
