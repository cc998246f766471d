package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/protection"
)

// story writes a Plan as one line: state and reason, what is done, and when to
// look again.
func story(plan decide.Plan) string {
	parts := []string{strings.TrimSuffix(fmt.Sprintf("%s/%s", plan.State, plan.Reason), "/")}
	for _, slice := range plan.Publish {
		parts = append(parts, "publish "+sliceText(slice))
	}
	for _, slice := range plan.Retract {
		parts = append(parts, "retract "+sliceText(slice))
	}
	for _, slice := range plan.Unpublish {
		parts = append(parts, "unpublish "+nameText(slice))
	}
	if plan.Create != nil {
		parts = append(parts, "create "+plan.Create.Name)
	}
	if plan.DryRun != nil {
		parts = append(parts, "dry-run "+plan.DryRun.Name)
	}
	for _, pod := range plan.Rebind {
		parts = append(parts, "rebind "+pod.Name)
	}
	for _, removal := range plan.Release {
		parts = append(parts, "release "+removal.Pod.Name)
	}
	for _, removal := range plan.Delete {
		parts = append(parts, fmt.Sprintf("delete %s (%s)", removal.Pod.Name, removal.Why))
	}
	if plan.RecheckAfter > 0 {
		parts = append(parts, "recheck "+plan.RecheckAfter.String())
	}
	return strings.TrimPrefix(strings.Join(parts, ", "), ", ")
}

// sliceText is a standby slice as "name[kind: endpoints on ports]", with what
// kube-proxy makes of it.
func sliceText(slice *discoveryv1.EndpointSlice) string {
	var names, ports []string
	for _, endpoint := range slice.Endpoints {
		names = append(names, endpoint.TargetRef.Name)
	}
	for _, port := range slice.Ports {
		ports = append(ports, fmt.Sprint(*port.Port))
	}
	text := fmt.Sprintf("%s[%s", nameText(slice), slice.Labels[criticalv2.LabelFallbackKind])
	if len(names) > 0 {
		if protection.StandsFor(slice) == "" {
			text += ": " + strings.Join(names, "+")
		}
		text += " on " + strings.Join(ports, ",")
		if protection.IsPromoted(slice) {
			text += ", ready"
		}
	}
	for _, key := range []string{criticalv2.AnnotationOutageSince, criticalv2.AnnotationRecoveredSince} {
		if at, found := slice.Annotations[key]; found {
			text += ", " + strings.TrimPrefix(key, criticalv2.ReservedPrefix) + " " + at[11:19]
		}
	}
	return text + "]"
}

// nameText is the name of a slice, with that of its Pod in place of a hash.
func nameText(slice *discoveryv1.EndpointSlice) string {
	if protection.StandsFor(slice) == "" {
		return slice.Name
	}
	return slice.Name[:strings.LastIndex(slice.Name, "-")] + "/" + slice.OwnerReferences[0].Name
}

type table map[string]struct {
	given decide.Snapshot
	want  string
}

func (tests table) run(t *testing.T) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			note(test.given)

			NewWithT(t).Expect(story(decide.Decide(test.given))).To(Equal(test.want))
		})
	}
}

func TestOutage(t *testing.T) {
	table{
		"a Service with an empty slice is down and gets a fallback": {
			snapshot(), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a Service whose only Pod is not ready is down": {
			snapshot(endpoints(notReady("shop-1"))), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a Service without any slice is not yet known to be down": {
			snapshot(inSlices()), "Arming/EndpointsUnknown",
		},
		"a fallback that is not yet ready leaves the Service exposed": {
			snapshot(fallback(aged(20*time.Second)), endpoints(notReady(fallbackName))), "Exposed/FallbackStarting, recheck 40s",
		},
		"a ready fallback covers the Service": {
			snapshot(fallback(readyPod), endpoints(ready(fallbackName))), "Covered/FallbackServing",
		},
		"a real Pod that is not ready does not end the outage": {
			snapshot(fallback(readyPod), endpoints(ready(fallbackName), notReady("shop-1"))), "Covered/FallbackServing",
		},
		"a fallback is kept though its template is gone": {
			snapshot(noTemplate, fallback(readyPod), endpoints(ready(fallbackName))), "Covered/TemplateNotFound",
		},
		"a fallback that answers is kept though its template has changed": {
			snapshot(fallback(readyPod, fromOldTemplate), endpoints(ready(fallbackName))), "Covered/FallbackServing",
		},
		"a fallback that is not ready is replaced once its template has changed": {
			snapshot(fallback(fromOldTemplate, waiting("ImagePullBackOff", "")), endpoints(notReady(fallbackName))),
			"Exposed/FallbackFailing, delete service-watcher-shop (Outdated)",
		},
		"a fallback that waits for its image is failing": {
			snapshot(fallback(waiting("ErrImagePull", "no such image"))), "Exposed/FallbackFailing",
		},
		"a fallback that runs for long without being ready is failing": {
			snapshot(fallback(aged(2*time.Minute)), endpoints(notReady(fallbackName))), "Exposed/FallbackFailing",
		},
		"a fallback of a Service that publishes addresses that are not ready covers only when it serves": {
			snapshot(fallback(aged(5*time.Second)), endpoints(discoveryv1.Endpoint{
				Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(false)},
				TargetRef:  &corev1.ObjectReference{Kind: "Pod", Name: fallbackName, UID: fallbackName},
			})), "Exposed/FallbackStarting, recheck 55s",
		},
		"an evicted fallback is deleted to make room": {
			snapshot(fallback(evicted)), "Exposed/FallbackFailing, delete service-watcher-shop (Failed)",
		},
		"a fallback that failed at once is not replaced in a loop": {
			snapshot(fallback(evicted, aged(3*time.Second))), "Exposed/FallbackFailing, recheck 7s",
		},
		"a fallback that a user deleted is awaited": {
			snapshot(fallback(terminating)), "Exposed/FallbackStarting, recheck 30s",
		},
		"a fallback whose node is lost does not keep the next one waiting for ever": {
			snapshot(fallback(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now.Add(-31 * time.Second))) })),
			"Exposed/FallbackFailing, delete service-watcher-shop (Stuck), recheck 30s",
		},
		"a fallback that a finalizer holds is left to those who set it": {
			snapshot(fallback(func(p *corev1.Pod) {
				p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(now.Add(-31*time.Second))), []string{"example.com/wait"}
			})), "Exposed/FallbackFailing",
		},
		"a fallback that is ending under another name holds nothing up": {
			snapshot(fallback(terminating, named("old-prefix-shop"))), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a fallback that misses one probe is given time, though its template has changed": {
			snapshot(fallback(fromOldTemplate, aged(time.Hour), func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-time.Second)),
				}}
			}), endpoints(notReady(fallbackName))), "Exposed/FallbackStarting, recheck 59s",
		},
		"of two fallbacks the one that answers stays": {
			snapshot(fallback(aged(time.Hour)), fallback(named("old-prefix-shop"), readyPod), endpoints(ready("old-prefix-shop"))),
			"Covered/FallbackServing, delete service-watcher-shop (Surplus)",
		},
		"a fallback under another prefix stays": {
			snapshot(fallback(named("old-prefix-shop"), readyPod), endpoints(ready("old-prefix-shop"))), "Covered/FallbackServing",
		},
		"a changed selector is followed without a restart": {
			snapshot(fallback(readyPod), service(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "store"} })),
			"Exposed/FallbackStarting, rebind service-watcher-shop",
		},
		"a governor that comes first takes the fallback over": {
			snapshot(fallback(readyPod), endpoints(ready(fallbackName)), policies(policy("a0"), policy("A"))),
			"Covered/FallbackServing, rebind service-watcher-shop",
		},
	}.run(t)
}

func TestRecovery(t *testing.T) {
	table{
		"a ready endpoint ends the outage, and the fallback leaves the Service": {
			snapshot(fallback(readyPod), endpoints(ready(fallbackName), ready("shop-1")), accepted),
			"Armed/EndpointsReady, release service-watcher-shop, recheck 10s",
		},
		"a fallback that has left goes on answering for a moment": {
			snapshot(fallback(readyPod, released(time.Second)), endpoints(ready(fallbackName), ready("shop-1")), accepted),
			"Armed/EndpointsReady, recheck 9s",
		},
		"a fallback that has left long enough is deleted": {
			snapshot(fallback(readyPod, released(10*time.Second)), endpoints(ready("shop-1")), accepted),
			"Armed/EndpointsReady, delete service-watcher-shop (Recovered)",
		},
		"a fallback that left in the future is not kept until then": {
			snapshot(fallback(released(-time.Hour)), endpoints(ready("shop-1")), accepted),
			"Armed/EndpointsReady, delete service-watcher-shop (Recovered)",
		},
		"a fallback that left at a time no one can read is deleted": {
			snapshot(fallback(func(p *corev1.Pod) { p.Annotations[criticalv2.AnnotationReleased] = "noon" }), endpoints(ready("shop-1")), accepted),
			"Armed/EndpointsReady, delete service-watcher-shop (Recovered)",
		},
		"a fallback that never answered need not drain": {
			snapshot(fallback(), endpoints(notReady(fallbackName), ready("shop-1")), accepted),
			"Armed/EndpointsReady, delete service-watcher-shop (Recovered)",
		},
		"a template that went in the outage is said as soon as the next fallback needs it": {
			snapshot(noTemplate, fallback(readyPod), endpoints(ready(fallbackName), ready("shop-1"))),
			"Arming/TemplateNotFound, release service-watcher-shop, recheck 10s",
		},
		"a fallback that has left comes back at once in the next outage": {
			snapshot(fallback(readyPod, released(time.Second))), "Exposed/FallbackStarting, rebind service-watcher-shop",
		},
		"a fallback that is ending already is left alone": {
			snapshot(fallback(terminating), endpoints(ready("shop-1")), accepted), "Armed/EndpointsReady",
		},
		"a ready endpoint counts in any slice": {
			snapshot(inSlices(slice(notReady("shop-1")), slice(), slice(ready("shop-2"))), accepted),
			"Armed/EndpointsReady, recheck 9m0s",
		},
		"a nil ready means ready": {
			snapshot(endpoints(endpoint("shop-1", nil)), accepted), "Armed/EndpointsReady, recheck 9m0s",
		},
		"an endpoint that is no Pod is the Service's own": {
			snapshot(endpoints(discoveryv1.Endpoint{}), accepted), "Armed/EndpointsReady, recheck 9m0s",
		},
		"an IPv6 endpoint alone keeps a dual-stack Service up": {
			snapshot(inSlices(slice(), func() discoveryv1.EndpointSlice {
				s := slice(ready("shop-1"))
				s.AddressType = discoveryv1.AddressTypeIPv6
				return s
			}()), accepted), "Armed/EndpointsReady, recheck 9m0s",
		},
		"a slice of names carries no traffic": {
			snapshot(inSlices(func() discoveryv1.EndpointSlice {
				s := slice(ready("shop-1"))
				s.AddressType = discoveryv1.AddressTypeFQDN
				return s
			}())), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a Pod without the named target port carries no traffic": {
			snapshot(inSlices(func() discoveryv1.EndpointSlice {
				s := slice(ready("shop-1"))
				s.Ports = nil
				return s
			}())), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"one port of several that answers keeps the Service up": {
			snapshot(service(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 90})
			}), endpoints(ready("shop-1")), accepted), "Armed/EndpointsReady, recheck 9m0s",
		},
		"a headless Service without ports is up when a Pod is ready": {
			snapshot(service(func(s *corev1.Service) { s.Spec.Ports = nil }), endpoints(ready("shop-1")), accepted),
			"Armed/EndpointsReady, recheck 9m0s",
		},
	}.run(t)
}

func TestAnEndpointOfOursIsNeverTheServicesOwn(t *testing.T) {
	table{
		"a fallback that the cache does not know is known by its name": {
			snapshot(endpoints(ready(fallbackName))), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a Pod that the Service selects and that does not listen on its port covers nothing": {
			snapshot(containerPort(3000), fallback(readyPod), endpoints(ready(fallbackName))), "Exposed/PortUnanswered",
		},
		"nor does one half of the Pods cover a port, if the other half refuses it": {
			snapshot(fallback(readyPod), endpoints(ready(fallbackName), ready("service-watcher-admin")), func(s *decide.Snapshot) {
				s.OtherFallbacks = otherFallback("service-watcher-admin")
				s.OtherFallbacks[0].Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 9000}}}}
			}), "Exposed/PortUnanswered",
		},
		"a fallback under another name is known by its UID": {
			snapshot(fallback(named("old-prefix-shop")), endpoints(ready("old-prefix-shop"))), "Covered/FallbackServing",
		},
		"the fallback of another Service with the same selector is no end of the outage": {
			snapshot(fallback(readyPod), endpoints(ready(fallbackName), ready("service-watcher-shop-headless")), func(s *decide.Snapshot) {
				s.OtherFallbacks = otherFallback("service-watcher-shop-headless")
			}), "Covered/FallbackServing",
		},
		"another user's Pod with the fallback's name is the Service's own": {
			snapshot(endpoints(ready(fallbackName)), func(s *decide.Snapshot) {
				s.NameConflict = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fallbackName, UID: fallbackName}}
			}, answered(time.Second, criticalv2.ReasonNameTaken, "taken")),
			"Arming/NameTaken, recheck 4s",
		},
		"a slice that still lists the fallback before that Pod does not count": {
			snapshot(endpoints(ready(fallbackName)), func(s *decide.Snapshot) {
				s.NameConflict = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fallbackName, UID: "another"}}
			}), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
	}.run(t)
}

func TestBeforeAnOutage(t *testing.T) {
	up := endpoints(ready("shop-1"))
	table{
		"the fallback of another Service that this one would select as well is said": {
			snapshot(endpoints(ready("shop-1")), neighbor(9000), accepted), "Arming/SelectorOverlap, recheck 9m0s",
		},
		"if it listens on the Service's port, it is no matter": {
			snapshot(endpoints(ready("shop-1")), neighbor(80), accepted), "Armed/EndpointsReady, recheck 9m0s",
		},
		"a Service that is up gets a dry run": {
			snapshot(up), "Arming/DryRunPending, dry-run service-watcher-shop, recheck 1s",
		},
		"an accepted dry run arms the Service": {
			snapshot(up, accepted), "Armed/EndpointsReady, recheck 9m0s",
		},
		"an old dry run is repeated, and the Service stays armed": {
			snapshot(up, answered(11*time.Minute, "", "")), "Armed/EndpointsReady, dry-run service-watcher-shop, recheck 1s",
		},
		"an answer about another Pod does not count": {
			snapshot(up, accepted, containerPort(80)), "Arming/DryRunPending, dry-run service-watcher-shop, recheck 1s",
		},
		"a denied dry run is known before the outage": {
			snapshot(up, denied(10*time.Second), asDryRun), "Arming/CreateDenied, recheck 20s",
		},
		"a denied dry run is repeated": {
			snapshot(up, denied(31*time.Second)), "Arming/CreateDenied, dry-run service-watcher-shop, recheck 1s",
		},
		"in a namespace that is being deleted, a dry run is tried less and less": {
			snapshot(up, endingNamespace, asDryRun), "Arming/DryRunPending, recheck 29s",
		},
		"a missing template is known before the outage": {
			snapshot(up, noTemplate), "Arming/TemplateNotFound, publish shop-standby-ipv4[page], recheck 1m0s",
		},
		"a template that declares another port is known before the outage": {
			snapshot(up, containerPort(8080)), "Arming/PortMismatch",
		},
		"a fallback that is ending gets no dry run": {
			snapshot(up, fallback(terminating)), "Armed/EndpointsReady",
		},
	}.run(t)
}

func TestWhatBlocksAFallback(t *testing.T) {
	table{
		"a missing template": {
			snapshot(noTemplate), "Exposed/TemplateNotFound, publish shop-standby-ipv4[page], recheck 1m0s",
		},
		"a template that serves no port makes no dead endpoint": {
			snapshot(containerPort(8080)), "Exposed/PortMismatch",
		},
		"a template that serves some ports is better than nothing": {
			snapshot(containerPort(80), service(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "tls", Port: 443})
			})), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a template that serves some ports covers those, and says so": {
			snapshot(containerPort(80), service(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "tls", Port: 443, TargetPort: intstr.FromString("tls")})
			}), fallback(readyPod), endpoints(ready(fallbackName))), "Covered/PortMismatch",
		},
		"a denied create is not repeated at once": {
			snapshot(denied(time.Second)), "Exposed/CreateDenied, recheck 4s",
		},
		"a first denial is repeated soon": {
			snapshot(denied(300*time.Millisecond), func(s *decide.Snapshot) { s.Attempt.Refusals = 1 }), "Exposed/CreateDenied, recheck 700ms",
		},
		"the time between repetitions doubles": {
			snapshot(denied(time.Second), func(s *decide.Snapshot) { s.Attempt.Refusals = 3 }), "Exposed/CreateDenied, recheck 3s",
		},
		"a denied create is repeated": {
			snapshot(denied(30 * time.Second)), "Exposed/CreateDenied, create service-watcher-shop, recheck 1s",
		},
		"a refused dry run does not hold up a create": {
			snapshot(refusedDryRun), "Exposed/CreateDenied, create service-watcher-shop, recheck 1s",
		},
		"a denied create is repeated at once when the template is fixed": {
			snapshot(denied(time.Second), containerPort(80)), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"in a namespace that is being deleted, a create is tried less and less": {
			snapshot(endingNamespace), "Exposed/FallbackStarting, recheck 29s",
		},
	}.run(t)
}

func TestTheFirstByNameGoverns(t *testing.T) {
	plan := decide.Decide(snapshot(policies(policy("c"), policy("a"), policy("b"))))
	NewWithT(t).Expect(plan.Governor.GetName()).To(Equal("a"))
	NewWithT(t).Expect(plan.Create.OwnerReferences[0].Name).To(Equal("a"))
}

func TestMessagesNameTheObjectsAndWhatToDo(t *testing.T) {
	tests := map[string]struct {
		given decide.Snapshot
		want  []string
	}{
		"a missing template names it and the settings that choose it": {
			snapshot(noTemplate), []string{`"page"`, `"system"`, "POD_TEMPLATE"},
		},
		"a port mismatch names both ports": {
			snapshot(containerPort(8080)), []string{"80/TCP (http)", "8080/TCP", "system/page"},
		},
		"a crash names container, exit code and cause": {
			snapshot(fallback(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "page", LastTerminationState: corev1.ContainerState{
						Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"},
					},
				}}
			})), []string{`"page"`, "137", "OOMKilled", fallbackName},
		},
		"a Pod that runs and is not ready points to its probe": {
			snapshot(fallback(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })), []string{"readiness probe"},
		},
		"a Pod that does not even run points to what it waits for": {
			snapshot(fallback(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })), []string{"kubectl describe pod"},
		},
		"a Pod that no node takes says why": {
			snapshot(fallback(func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available",
				}}
			})), []string{"not scheduled", "0/3 nodes"},
		},
		"a Pod that waits for its image says why": {
			snapshot(fallback(waiting("ErrImagePull", "no such image"))), []string{"ErrImagePull", "no such image"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			message := decide.Decide(test.given).Message
			for _, want := range test.want {
				NewWithT(t).Expect(message).To(ContainSubstring(want))
			}
		})
	}
}
