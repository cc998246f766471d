package drill

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/probe/command"
	"github.com/critical-service/operator/internal/text/terminal"
)

const (
	// Label marks the Pods of drills.
	Label = "app.kubernetes.io/name"
	// LabelValue is its value.
	LabelValue = "critical-service-drill"

	container = "prober"
	// startTimeout is how long the Pod may take until it runs: its image may have to be
	// pulled.
	startTimeout = 2 * time.Minute
	// cleanupTimeout is how long removing the Pod may take, whatever ended the drill.
	cleanupTimeout = 15 * time.Second

	olderImage = "(is its image that of an operator as new as this plugin?)"
)

// prober makes Pods that ask.
type prober struct {
	client.Client
	logs      kubernetes.Interface
	namespace string
	image     string
	secrets   []corev1.LocalObjectReference
	// host is the name under which servers are asked.
	host string
}

// pod is the Pod that asks: it meets the Pod Security standard "restricted", has no
// token, and ends by its deadline if it is not removed.
func (p *prober) pod(options command.Options, deadline time.Duration) *corev1.Pod {
	args := []string{command.Name, flag(command.FlagHost, p.host), flag(command.FlagTries, strconv.Itoa(options.Tries))}
	if options.Every > 0 {
		args = append(args, flag(command.FlagEvery, options.Every.String()))
	}
	if options.For > 0 {
		args = append(args, flag(command.FlagFor, options.For.String()))
	}
	for _, target := range options.Targets {
		args = append(args, flag(command.FlagTarget, target))
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, GenerateName: LabelValue + "-",
			Labels: map[string]string{Label: LabelValue, "app.kubernetes.io/managed-by": "kubectl-critsvc"},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: container, Image: p.image, Command: []string{listener.Program}, Args: args,
				Env: []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "115MiB"}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("25m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("128Mi")},
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         new(int64(deadline.Seconds())),
			TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			NodeSelector:                  map[string]string{corev1.LabelOSStable: string(corev1.Linux)},
			ImagePullSecrets:              p.secrets,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

func flag(name, value string) string { return "--" + name + "=" + value }

// ask runs a Pod and hands what it prints to each, line by line, until it has ended,
// or each reports that it has enough. The Pod is removed in any case.
func (p *prober) ask(ctx context.Context, options command.Options, deadline time.Duration, each func(command.Observation) (enough bool)) error {
	pod := p.pod(options, deadline)
	if err := p.Create(ctx, pod); err != nil {
		return fmt.Errorf("make the prober Pod: %w", err)
	}
	defer p.remove(ctx, pod)
	if err := p.runs(ctx, pod); err != nil {
		return err
	}
	stream, err := p.logs.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container, Follow: true}).Stream(ctx)
	if err != nil {
		return fmt.Errorf("read what the prober Pod %s prints: %w", pod.Name, err)
	}
	defer func() { _ = stream.Close() }()
	return read(stream, each)
}

// remove deletes the Pod, also after the user has interrupted the drill.
func (p *prober) remove(ctx context.Context, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	// Its deadline ends a Pod that cannot be deleted now.
	_ = p.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
}

// runs waits until the Pod runs, or has run.
func (p *prober) runs(ctx context.Context, pod *corev1.Pod) error {
	const often = 100 * time.Millisecond
	waits := ""
	err := wait.PollUntilContextTimeout(ctx, often, startTimeout, true, func(ctx context.Context) (bool, error) {
		if err := p.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, err
		}
		waits = waitsFor(pod)
		switch pod.Status.Phase {
		case corev1.PodRunning, corev1.PodSucceeded:
			return true, nil
		case corev1.PodFailed:
			return true, startError(pod) // Otherwise its output says why.
		default:
			return false, nil
		}
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the prober Pod %s does not run after %s: %s", pod.Name, startTimeout, waits)
	}
	return err
}

// startError reports that the image has no such program. Only the container runtime
// writes a message: the program itself writes none.
func startError(pod *corev1.Pod) error {
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil && ended.Message != "" {
			return fmt.Errorf("the prober Pod %s cannot start: %s %s", pod.Name, terminal.OneLine(ended.Reason+" "+ended.Message), olderImage)
		}
	}
	return nil
}

// waitsFor says why a Pod does not run.
func waitsFor(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil {
			return terminal.OneLine(waiting.Reason + " " + waiting.Message)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return terminal.OneLine(condition.Reason + " " + condition.Message)
		}
	}
	return "its node has not started it"
}

// read hands each line on. A line that is not an observation is an error message of
// the program.
func read(stream io.Reader, each func(command.Observation) (enough bool)) error {
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		var seen command.Observation
		if err := json.Unmarshal(lines.Bytes(), &seen); err != nil {
			return fmt.Errorf("the prober Pod says: %s %s", terminal.OneLine(lines.Text()), olderImage)
		}
		if each(seen) {
			return nil
		}
	}
	return lines.Err()
}
