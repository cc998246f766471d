package diagnosis_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/diagnosis"
)

func TestMixtures(t *testing.T) {
	all := scenarios(t)
	of := func(name string) diagnosis.Evidence { return all[name].evidence(t) }
	tests := map[string]struct {
		evidence func() diagnosis.Evidence
		want     string
	}{
		"a Deployment at zero beside one that crashes is not why": {func() diagnosis.Evidence {
			e, old := of("crash-loop"), of("scaled-by-kubectl")
			old.Deployments[0].Name = "shop-blue"
			e.Deployments = append(e.Deployments, old.Deployments...)
			return e
		}, "CrashLoop: "},
		"a Deployment at zero beside one that has no Pod yet is not why": {func() diagnosis.Evidence {
			e, fresh := of("scaled-by-kubectl"), of("crash-loop")
			fresh.Deployments[0].Name = "shop-green"
			e.Deployments = append(e.Deployments, fresh.Deployments...)
			return e
		}, `CauseNotFound: Deployment "shop-green" should have 2 Pods and has none`},
		"two Deployments at zero are both meant": {func() diagnosis.Evidence {
			e := of("scaled-by-kubectl")
			second := e.Deployments[0].DeepCopy()
			second.Name = "shop-blue"
			e.Deployments = append(e.Deployments, *second)
			return e
		}, `ScaledToZero: Deployment "shop" (and 1 workload more) is scaled to zero`},
		"a Pod that is ending belongs to a Deployment that is scaled to zero": {func() diagnosis.Evidence {
			e := of("scaled-by-kubectl")
			e.Pods = of("terminating").Pods
			return e
		}, "ScaledToZero: "},
		"Pods of a bare kind may exist where the list is cut": {func() diagnosis.Evidence {
			e := of("nothing-there")
			e.WorkloadsUnread = true
			return e
		}, "CauseNotFound: No Pod has the labels"},
		"a Deployment that is being deleted makes no Pods": {func() diagnosis.Evidence {
			e := of("scaled-by-kubectl")
			e.Deployments[0].DeletionTimestamp = new(metav1.Now())
			return e
		}, "NoMatchingPods: "},
		"a quota that refuses some Pods is not why the others crash": {func() diagnosis.Evidence {
			e := of("crash-loop")
			e.Deployments = of("quota").Deployments
			return e
		}, "CrashLoop: "},
		"a quota that refuses Pods explains more than one that has failed": {func() diagnosis.Evidence {
			e := of("quota")
			e.Pods = of("pods-failed").Pods
			return e
		}, "PodsRefused: "},
		"what an idle Service of OpenShift waits for": {func() diagnosis.Evidence {
			e := of("scaled-by-kubectl")
			e.Deployments[0].Annotations = map[string]string{"idling.alpha.openshift.io/idled-at": "2026-11-21T18:20:00Z"}
			return e
		}, `ScaledToZero: Deployment "shop" is scaled to zero by OpenShift, which idles it`},
		"an autoscaler that may scale to zero is named": {func() diagnosis.Evidence {
			e := of("scaled-by-keda")
			e.Autoscalers[0].Labels, e.Autoscalers[0].Spec.MinReplicas = nil, new(int32(0))
			return e
		}, `ScaledToZero: Deployment "shop" is scaled to zero; HorizontalPodAutoscaler "keda-hpa-shop" may do so`},
		"an autoscaler that may not has not done it": {func() diagnosis.Evidence {
			e := of("scaled-by-keda")
			e.Autoscalers[0].Labels = nil
			return e
		}, `ScaledToZero: Deployment "shop" is scaled to zero; HorizontalPodAutoscaler "keda-hpa-shop" leaves it there`},
		"KEDA is not named where another manager set the replicas": {func() diagnosis.Evidence {
			e := of("created-with-zero")
			e.Autoscalers = of("scaled-by-keda").Autoscalers
			return e
		}, `ScaledToZero: StatefulSet "shop" is scaled to zero by "helm"`},
		"the owner of a ReplicaSet is named": {func() diagnosis.Evidence {
			e := of("replicaset-at-zero")
			e.ReplicaSets[0].OwnerReferences = []metav1.OwnerReference{{Kind: "Rollout", Name: "shop", Controller: new(true)}}
			return e
		}, `ScaledToZero: ReplicaSet "shop" of Rollout "shop" is scaled to zero`},
		"a Pod whose node does not exist any more": {func() diagnosis.Evidence {
			e := of("node-lost")
			e.Nodes, e.NodesGone = nil, []string{"ghost"}
			return e
		}, `NodeLost: Pod "shop-75ff8dc6bb-b4kdd" (2 of 2 Pods) is on node "ghost", which does not exist any more.`},
		"a Pod that works on a node that is not ready": {func() diagnosis.Evidence {
			e := of("node-lost")
			e.Nodes[0].Status.Conditions[0].Status = corev1.ConditionFalse
			e.Nodes[0].Status.Conditions[0].Message = "container runtime is down"
			return e
		}, `NodeLost: Pod "shop-75ff8dc6bb-b4kdd" (2 of 2 Pods) is on node "ghost", which is not ready: container runtime is down.`},
		"a Pod that was evicted": {func() diagnosis.Evidence {
			e := of("pods-failed")
			e.Pods[0].Status.Reason, e.Pods[0].Status.Message = "Evicted", "The node was low on resource: memory. "
			return e
		}, `PodsEnded: Pod "shop-0" has failed, and no other has taken its place: Evicted: The node was low on resource: memory.`},
		"a volume that could not be mounted once may be there the next time": {func() diagnosis.Evidence {
			e := of("volume-missing")
			for i := range e.Events {
				e.Events[i].DeprecatedCount = 1
			}
			return e
		}, "PodsStarting: The containers of Pod"},
		"a volume that could not be mounted is, since the image is being pulled": {func() diagnosis.Evidence {
			e := of("volume-missing")
			for i := range e.Pods {
				pulling := e.Events[0].DeepCopy()
				pulling.Regarding.UID, pulling.Reason, pulling.DeprecatedLastTimestamp = e.Pods[i].UID, "Pulling", metav1.NewTime(e.Now)
				e.Events = append(e.Events, *pulling)
			}
			return e
		}, "PodsStarting: The containers of Pod"},
		"a container that crashed once may work the next time": {func() diagnosis.Evidence {
			e := of("crash-loop")
			e.Pods = e.Pods[:1]
			status := &e.Pods[0].Status.ContainerStatuses[0]
			status.State = corev1.ContainerState{Terminated: status.LastTerminationState.Terminated}
			status.LastTerminationState, status.RestartCount = corev1.ContainerState{}, 0
			return e
		}, `PodsStarting: Container "web" of Pod "shop-fc6dbc5c9-9m8sh" starts again after it ended with exit code 1, saying: Error: crashed, as --crash-after asks for.`},
		"a command that does not exist is the same before the first back-off": {func() diagnosis.Evidence {
			e := of("command-not-found")
			for i := range e.Pods {
				status := &e.Pods[i].Status.ContainerStatuses[0]
				status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "RunContainerError", Message: status.LastTerminationState.Terminated.Message}
				status.LastTerminationState = corev1.ContainerState{}
			}
			return e
		}, "ContainerConfig: " + all["command-not-found"].Want.Message},
		"a container that the Pod does not restart": {func() diagnosis.Evidence {
			e := of("crash-loop")
			e.Pods = e.Pods[:1]
			status := &e.Pods[0].Status.ContainerStatuses[0]
			status.State = corev1.ContainerState{Terminated: status.LastTerminationState.Terminated}
			e.Pods[0].Spec.RestartPolicy = corev1.RestartPolicyNever
			return e
		}, `PodsEnded: Container "web" of Pod "shop-fc6dbc5c9-9m8sh" is not restarted after it ended with exit code 1`},
		"between two crashes it is still a crash loop": {func() diagnosis.Evidence {
			e := of("crash-loop")
			for i := range e.Pods {
				e.Pods[i].Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(e.Now)}}
			}
			return e
		}, "CrashLoop: "},
		"crashes of last week are not why": {func() diagnosis.Evidence {
			e := of("never-ready")
			for i := range e.Pods {
				status := &e.Pods[i].Status.ContainerStatuses[0]
				status.RestartCount = 7
				then := metav1.NewTime(e.Now.Add(-7 * 24 * time.Hour))
				status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: then, FinishedAt: then}
			}
			return e
		}, "ProbeFailing: "},
		"a readiness probe has its time": {func() diagnosis.Evidence {
			e := of("never-ready")
			e.Now = e.Pods[0].Status.ContainerStatuses[0].State.Running.StartedAt.Add(10 * time.Second)
			return e
		}, "PodsStarting: "},
		"a readiness gate has its time": {func() diagnosis.Evidence {
			e := of("readiness-gate")
			e.Now = e.Pods[0].Status.ContainerStatuses[0].State.Running.StartedAt.Add(10 * time.Second)
			return e
		}, "PodsStarting: "},
		"one of two Pods has the port": {func() diagnosis.Evidence {
			e := of("target-port-missing")
			e.Pods[0].Spec.Containers[0].Ports[0].Name = "web"
			return e
		}, "CauseNotFound: 2 of 2 Pods are ready"},
		"a port of the name of another protocol is not that port": {func() diagnosis.Evidence {
			e := of("target-port-missing")
			for i := range e.Pods {
				e.Pods[i].Spec.Containers[0].Ports[0] = corev1.ContainerPort{Name: "web", Protocol: corev1.ProtocolUDP}
			}
			return e
		}, "TargetPortMissing: "},
		"a Pod of a Helm hook does not explain a Deployment at zero": {func() diagnosis.Evidence {
			e := of("scaled-by-kubectl")
			e.Pods = ofJob(of("image-missing").Pods[:1])
			return e
		}, `ScaledToZero: Deployment "shop" is scaled to zero`},
		"nor does it before the workloads were read": {func() diagnosis.Evidence {
			e := of("scaled-by-kubectl")
			e.Pods, e.Deployments, e.ReplicaSets, e.WorkloadsUnread = ofJob(of("image-missing").Pods[:1]), nil, nil, true
			return e
		}, "CauseNotFound: Only Pods of Jobs have the labels"},
		"a Job that has ended does not explain why a Deployment has no Pod": {func() diagnosis.Evidence {
			e := of("crash-loop")
			e.Pods = ofJob(of("pods-succeeded").Pods)
			return e
		}, `CauseNotFound: Deployment "shop" should have 2 Pods and has none`},
		"where there is no workload, the Pods of a Job are all that there is": {func() diagnosis.Evidence {
			e := of("image-missing")
			e.Pods, e.Deployments, e.ReplicaSets = ofJob(e.Pods[:1]), nil, nil
			return e
		}, "ImagePull: "},
		"a stray Pod does not explain why others are not ready": {func() diagnosis.Evidence {
			e := of("crash-loop")
			e.Pods = append(e.Pods, uncontrolled(of("image-missing").Pods[:1])...)
			return e
		}, `CrashLoop: Container "web" of Pod "shop-fc6dbc5c9-9m8sh" (2 of 2 Pods)`},
		"nor why a Deployment at zero has none": {func() diagnosis.Evidence {
			e := of("scaled-by-kubectl")
			e.Pods = uncontrolled(of("image-missing").Pods[:1])
			return e
		}, "ScaledToZero: "},
		"a stray Pod alone explains itself": {func() diagnosis.Evidence {
			e := of("image-missing")
			e.Pods, e.Deployments, e.ReplicaSets = uncontrolled(e.Pods[:1]), nil, nil
			return e
		}, "ImagePull: "},
		"one Pod that fails is not why two others are starting": {func() diagnosis.Evidence {
			e := starting(of("never-ready"))
			e.Pods = append(e.Pods, e.Pods[0], of("image-missing").Pods[0])
			e.Pods[2].Name += "-2"
			return e
		}, "PodsStarting: "},
		"of as many that fail and that start, the failure is said": {func() diagnosis.Evidence {
			e := starting(of("never-ready"))
			e.Pods = append(e.Pods[:1:1], of("image-missing").Pods[0])
			return e
		}, "ImagePull: "},
		"a quota that refuses the Pod of a rollout is not why the others are starting": {func() diagnosis.Evidence {
			e := starting(of("never-ready"))
			e.Deployments = of("quota").Deployments
			return e
		}, "PodsStarting: "},
		"nor is it where nothing is known of the others": {func() diagnosis.Evidence {
			e := silent(of("never-ready"))
			e.Deployments = of("quota").Deployments
			return e
		}, "CauseNotFound: "},
		"a quota that lets in fewer Pods than are wanted is": {func() diagnosis.Evidence {
			e := silent(of("never-ready"))
			e.Pods, e.Deployments = e.Pods[:1], of("quota").Deployments
			return e
		}, "PodsRefused: "},
		"a Service without a selector": {func() diagnosis.Evidence {
			e := of("healthy")
			e.Service.Spec.Selector = nil
			return e
		}, "CauseNotFound: The Service has no selector"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(textOf(diagnosis.Diagnose(test.evidence()).OutageCause)).To(HavePrefix(test.want))
		})
	}
}

// ofJob are Pods of a Job.
func ofJob(pods []corev1.Pod) []corev1.Pod {
	return ownedBy(pods, metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "migrate", Controller: new(true)})
}

// uncontrolled are Pods without a controller.
func uncontrolled(pods []corev1.Pod) []corev1.Pod { return ownedBy(pods) }

func ownedBy(pods []corev1.Pod, owners ...metav1.OwnerReference) []corev1.Pod {
	owned := make([]corev1.Pod, 0, len(pods))
	for i := range pods {
		pod := pods[i].DeepCopy()
		pod.OwnerReferences = owners
		owned = append(owned, *pod)
	}
	return owned
}

// starting is evidence of Pods that have just begun.
func starting(e diagnosis.Evidence) diagnosis.Evidence {
	e.Now = e.Pods[0].Status.ContainerStatuses[0].State.Running.StartedAt.Add(10 * time.Second)
	return e
}

// silent is evidence of Pods of which nothing is known but that they are not ready.
func silent(e diagnosis.Evidence) diagnosis.Evidence {
	for i := range e.Pods {
		e.Pods[i].Status = corev1.PodStatus{Phase: corev1.PodRunning}
	}
	return e
}

// A cause is the same as long as only what programs write is another text.
func TestWhatProgramsSayIsNoOtherCause(t *testing.T) {
	all := scenarios(t)
	ended := func(code int32, message string) func() diagnosis.Diagnosis {
		return func() diagnosis.Diagnosis {
			e := all["crash-loop"].evidence(t)
			for i := range e.Pods {
				end := e.Pods[i].Status.ContainerStatuses[0].LastTerminationState.Terminated
				end.ExitCode, end.Message = code, message
			}
			return diagnosis.Diagnose(e)
		}
	}
	probed := func(pods func([]corev1.Pod) []corev1.Pod, note string) func() diagnosis.Diagnosis {
		return func() diagnosis.Diagnosis {
			e := all["never-ready"].evidence(t)
			e.Pods = pods(e.Pods)
			for i := range e.Events {
				e.Events[i].Note = "Readiness probe failed: " + note
			}
			return diagnosis.Diagnose(e)
		}
	}
	each := func(pods []corev1.Pod) []corev1.Pod { return pods }
	renamed := func(pods []corev1.Pod) []corev1.Pod {
		for i := range pods {
			pods[i].Name += "-new"
		}
		return pods
	}
	gated := func(message string) func() diagnosis.Diagnosis {
		return func() diagnosis.Diagnosis {
			e := all["readiness-gate"].evidence(t)
			for i := range e.Pods {
				e.Pods[i].Status.Conditions = append(e.Pods[i].Status.Conditions, corev1.PodCondition{
					Type: e.Pods[i].Spec.ReadinessGates[0].ConditionType, Status: corev1.ConditionFalse, Message: message,
				})
			}
			return diagnosis.Diagnose(e)
		}
	}
	scheduled := func(message string) func() diagnosis.Diagnosis {
		return func() diagnosis.Diagnosis {
			e := all["unschedulable"].evidence(t)
			for i := range e.Pods {
				e.Pods[i].Status.Conditions[0].Message = message
			}
			return diagnosis.Diagnose(e)
		}
	}
	tests := map[string]struct {
		a, b func() diagnosis.Diagnosis
		want string
		same bool
	}{
		"the last words of a crash":            {ended(1, "19:44:46 no database"), ended(1, "19:45:46 no database"), "saying: 19:45:46 no database.", true},
		"another exit code":                    {ended(1, "x"), ended(2, "x"), "exit code 2, saying: x.", false},
		"a program that says nothing any more": {ended(1, "x"), ended(1, ""), "exit code 1.", false},
		"what a probe saw":                     {probed(each, "at 19:44"), probed(each, "at 19:45"), "fails: at 19:45.", true},
		"another Pod":                          {probed(each, "x"), probed(renamed, "x"), "-new\" (2 of 2 Pods) runs", false},
		"what a controller says of its gate":   {gated("19:44 registering"), gated("19:45 registering"), "is False: 19:45 registering.", true},
		"what Kubernetes says counts": {
			scheduled("0/2 nodes are available: 2 Insufficient cpu."), scheduled("0/2 nodes are available: 2 Insufficient memory."),
			"2 Insufficient memory.", false,
		},
		"another reason": {ended(1, "x"), gated("x"), "is False: x.", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a, b := test.a(), test.b()
			g.Expect(b.Message).To(ContainSubstring(test.want))
			g.Expect(a.Same(b)).To(Equal(test.same))
			g.Expect(b.Same(a)).To(Equal(test.same))
			g.Expect(a.Same(test.a())).To(BeTrue())
		})
	}
}

// What a controller writes differs from Pod to Pod, and their gate is one cause.
func TestPodsThatWaitForOneGateAreCountedTogether(t *testing.T) {
	e := scenarios(t)["readiness-gate"].evidence(t)
	for i := range e.Pods {
		e.Pods[i].Status.Conditions = append(e.Pods[i].Status.Conditions, corev1.PodCondition{
			Type: e.Pods[i].Spec.ReadinessGates[0].ConditionType, Status: corev1.ConditionFalse, Message: "target " + e.Pods[i].Name,
		})
	}
	NewWithT(t).Expect(diagnosis.Diagnose(e).Message).To(ContainSubstring("(2 of 2 Pods)"))
}
