package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

func TestPageBeforeAnOutage(t *testing.T) {
	table{
		"a slice is published at once, so that the responder's controller learns of it": {
			snapshot(toPage(), endpoints(ready("shop-1"))),
			"Arming/ResponderStarting, publish shop-standby-ipv4[page], recheck 1m0s",
		},
		"a table without a Pod is not enough": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(), published),
			"Arming/ResponderStarting, recheck 1m0s",
		},
		"a Pod that is not ready is not enough": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(starting), published),
			"Arming/ResponderStarting, recheck 1m0s",
		},
		"a Pod that does not listen on the Service's ports is not enough": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(narrow), published),
			"Arming/ResponderStarting, recheck 1m0s",
		},
		"a responder that is not made within a minute is a failure": {
			snapshot(toPage(), endpoints(ready("shop-1")), published, later(time.Minute)),
			"Arming/ResponderFailing",
		},
		"a listener that is not given within a minute is a failure": {
			snapshot(toPage(), endpoints(ready("shop-1")), published, responder(readyPod), func(s *decide.Snapshot) { s.Responder.Listeners = nil }, later(time.Minute)),
			"Arming/ResponderFailing",
		},
		"a Pod may take longer to start": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(starting), published, later(time.Minute)),
			"Arming/ResponderStarting",
		},
		"a Pod that is ready and listens is published as standby": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(readyPod, starting)),
			"Arming/SlicePending, publish shop-standby-ipv4[page], publish shop-standby-ipv4/responder-1[page on 20000]",
		},
		"a slice that the API server refuses is said": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(readyPod), func(s *decide.Snapshot) {
				s.Refusal = &decide.Refusal{Reason: criticalv2.ReasonCreateDenied}
			}),
			"Arming/CreateDenied, publish shop-standby-ipv4[page], publish shop-standby-ipv4/responder-1[page on 20000]",
		},
		"a refusal is said, too, while nothing is known of the Service's endpoints": {
			snapshot(toPage(), responder(readyPod), armed, responder(readyPod, readyPod), inSlices(), func(s *decide.Snapshot) {
				s.Refusal = &decide.Refusal{Reason: criticalv2.ReasonCreateDenied}
			}),
			"Exposed/CreateDenied, publish shop-standby-ipv4/responder-2[page on 20000]",
		},
		"once published, the Service is armed and nothing is left to do": {
			snapshot(toPage(), responder(readyPod, readyPod), armed),
			"Armed/StandbyReady",
		},
		"a Pod whose gate has just opened stays, though the kubelet does not say yet that it is ready": {
			snapshot(toPage(), responder(readyPod, readyPod), armed, responder(readyPod, gate("ReadinessGatesNotReady"))),
			"Armed/StandbyReady",
		},
		"first Pods whose gates have just opened still answer": {
			snapshot(toPage(), responder(readyPod, readyPod), armed, responder(gate("ReadinessGatesNotReady"), gate("ReadinessGatesNotReady"))),
			"Armed/StandbyReady",
		},
		"a Pod of a lost node goes while another is ready, though its containers seem so": {
			snapshot(toPage(), responder(readyPod, readyPod), armed, responder(readyPod, gate(""))),
			"Armed/StandbyReady, unpublish shop-standby-ipv4/responder-2",
		},
		"a Pod that ends is taken out while another is ready": {
			snapshot(toPage(), responder(readyPod, readyPod), armed, responder(readyPod, readyEnding)),
			"Armed/StandbyReady, unpublish shop-standby-ipv4/responder-2",
		},
		"a Pod that ends stays while no other is ready": {
			snapshot(toPage(), responder(readyPod), armed, responder(readyEnding, starting)),
			"Armed/StandbyReady",
		},
		"a Pod that lost readiness stays published while no other is ready, and the Service is not armed": {
			snapshot(toPage(), responder(readyPod), armed, responder(starting)),
			"Arming/ResponderStarting, recheck 1m0s",
		},
		"a Pod that is gone is not left in the slice": {
			snapshot(toPage(), responder(readyPod), armed, responder()),
			"Arming/ResponderStarting, unpublish shop-standby-ipv4/responder-1, recheck 1m0s",
		},
		"every port needs a listener": {
			snapshot(toPage(), responder(readyPod), service(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 81})
			}), armed),
			"Arming/ResponderStarting, recheck 1m0s",
		},
		"ports are matched by name": {
			snapshot(toPage(), responder(readyPod), service(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 81, TargetPort: intstr.FromString("m")})
			}), endpoints(ready("shop-1"))),
			"Arming/SlicePending, publish shop-standby-ipv4[page], publish shop-standby-ipv4/responder-1[page on 20000,20001]",
		},
		"UDP ports are left out": {
			snapshot(toPage(), responder(readyPod), service(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP})
			}), armed),
			"Armed/StandbyReady",
		},
		"a Service with UDP ports only cannot have a page": {
			snapshot(toPage(), responder(readyPod), endpoints(ready("shop-1")), service(func(s *corev1.Service) {
				s.Spec.Ports[0].Protocol = corev1.ProtocolUDP
			})),
			"Ignored/NoTCPPort",
		},
		"a headless Service cannot have a page": {
			snapshot(toPage(), responder(readyPod), endpoints(ready("shop-1")), service(headless)),
			"Arming/HeadlessUnsupported",
		},
		"a dual-stack Service has a slice for each family": {
			snapshot(toPage(), responder(readyPod), endpoints(ready("shop-1")), families(corev1.IPv4Protocol, corev1.IPv6Protocol)),
			"Arming/SlicePending, publish shop-standby-ipv4[page], publish shop-standby-ipv4/responder-1[page on 20000], publish shop-standby-ipv6[page], publish shop-standby-ipv6/responder-1[page on 20000]",
		},
		"the slice of a family that the Service has no more is deleted": {
			snapshot(toPage(), responder(readyPod), families(corev1.IPv4Protocol, corev1.IPv6Protocol), armed, families(corev1.IPv4Protocol)),
			"Armed/StandbyReady, unpublish shop-standby-ipv6, unpublish shop-standby-ipv6/responder-1",
		},
		"a copy of the slice, which no one would keep in step, is deleted": {
			snapshot(toPage(), responder(readyPod), armed, func(s *decide.Snapshot) {
				copied := s.Standby[0].DeepCopy()
				copied.Name, copied.UID = "restored", "restored"
				s.Standby = append(s.Standby, *copied)
			}),
			"Armed/StandbyReady, unpublish restored",
		},
		"Pods that the Deployment may not make are a failure": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(), published, failing("exceeded quota")),
			"Arming/ResponderFailing",
		},
		"an image that cannot be pulled is a failure": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(waiting("ErrImagePull", "not found")), published),
			"Arming/ResponderFailing",
		},
		"an operator that cannot make responders says so": {
			snapshot(toPage(), endpoints(ready("shop-1")), published, func(s *decide.Snapshot) { s.Settings.NoResponder = "set RESPONDER_IMAGE" }),
			"Arming/ResponderFailing",
		},
		"content that is not there is said, and the built-in page is armed": {
			snapshot(toContent("ours"), responder(readyPod), armed),
			"Armed/PageContentInvalid",
		},
		"content that is there and valid is no matter": {
			snapshot(toContent("ours"), withContent(map[string]string{"index.html": "<p>soon"}), responder(readyPod), armed),
			"Armed/StandbyReady",
		},
		"content that is not valid is said": {
			snapshot(toContent("ours"), withContent(map[string]string{"503.json": "{"}), responder(readyPod), armed),
			"Armed/PageContentInvalid",
		},
		"content that was not read yet counts as valid": {
			snapshot(toContent("ours"), unread, responder(readyPod), armed),
			"Armed/StandbyReady",
		},
		"a change of the page is written to the slice": {
			snapshot(toPage(), responder(readyPod), armed, toContent("ours"), withContent(map[string]string{"index.html": "<p>soon"})),
			"Armed/StandbyReady, publish shop-standby-ipv4[page]",
		},
		"another CriticalService that matches owns the slice too, so that it outlives the first": {
			snapshot(toPage(), responder(readyPod), armed, func(s *decide.Snapshot) { s.Policies = append(s.Policies, policy("b")) }),
			"Armed/StandbyReady, publish shop-standby-ipv4[page]",
		},
		"a new governor takes the slice over": {
			snapshot(toPage(), responder(readyPod), armed, func(s *decide.Snapshot) { critical(s).UID = "again" }),
			"Armed/StandbyReady, publish shop-standby-ipv4[page]",
		},
	}.run(t)
}

func TestPageInAnOutage(t *testing.T) {
	down := endpoints(notReady("shop-1"))
	table{
		"the standby is promoted with one write": {
			snapshot(toPage(), responder(readyPod), armed, down),
			"Covered/StandbyServing, publish shop-standby-ipv4/responder-1[page on 20000, ready]",
		},
		"promotion does not wait for what is to go": {
			snapshot(toPage(), responder(readyPod, readyPod), armed, down, responder(readyPod)),
			"Covered/StandbyServing, publish shop-standby-ipv4/responder-1[page on 20000, ready], unpublish shop-standby-ipv4/responder-2",
		},
		"what is to go goes with the next plan": {
			snapshot(toPage(), responder(readyPod, readyPod), armed, down, responder(readyPod), published),
			"Covered/FallbackServing, unpublish shop-standby-ipv4/responder-2",
		},
		"once promoted, nothing is left to do": {
			snapshot(toPage(), responder(readyPod), armed, down, published),
			"Covered/FallbackServing",
		},
		"a Service that begins in outage gets its responder as soon as it is ready": {
			snapshot(toPage(), down, published, responder(readyPod)),
			"Exposed/SlicePending, publish shop-standby-ipv4/responder-1[page on 20000, ready]",
		},
		"without a responder nothing answers": {
			snapshot(toPage(), down, published), "Exposed/ResponderStarting, recheck 1m0s",
		},
		"a ready responder Pod that a wide selector catches is not the Service's own": {
			snapshot(toPage(), responder(readyPod), armed, endpoints(ready("responder-1"))),
			"Exposed/SlicePending, publish shop-standby-ipv4/responder-1[page on 20000, ready]",
		},
		"a responder Pod that is replaced is replaced in the slice": {
			snapshot(toPage(), responder(readyPod), armed, down, published, responder(readyEnding, readyPod)),
			"Covered/FallbackServing, publish shop-standby-ipv4/responder-2[page on 20000, ready]",
		},
		"recovery makes it standby again, with one write": {
			snapshot(toPage(), responder(readyPod), armed, down, published, endpoints(ready("shop-1"))),
			"Armed/StandbyReady, publish shop-standby-ipv4/responder-1[page on 20000]",
		},
		"a Pod that got another address is published there, and no more where it was": {
			snapshot(toPage(), responder(readyPod), armed, down, published, moved()),
			"Exposed/SlicePending, publish shop-standby-ipv4/responder-1[page on 20000, ready]",
		},
		"an address that a Pod has lost is not kept, though the Pod is not ready yet": {
			snapshot(toPage(), responder(readyPod), armed, down, published, moved(unready)),
			"Exposed/ResponderStarting, unpublish shop-standby-ipv4/responder-1, recheck 1m0s",
		},
		"a port that is renamed is published under both names": {
			snapshot(toPage(), responder(readyPod), armed, down, published, renamed("http", "web")),
			"Exposed/SlicePending, publish shop-standby-ipv4/responder-1[page on 20000,20000, ready]",
		},
		"which covers it": {
			snapshot(toPage(), responder(readyPod), armed, down, published, renamed("http", "web"), published),
			"Covered/FallbackServing",
		},
		"a second port without a listener is said": {
			snapshot(toPage(), responder(readyPod), armed, down, published, secondPort("admin", 81)),
			"Covered/PortUnanswered",
		},
		"where the only port has no listener, nothing answers": {
			snapshot(toPage(), responder(readyPod), armed, down, published, service(func(s *corev1.Service) {
				s.Spec.Ports = []corev1.ServicePort{{Name: "admin", Port: 81}}
			})),
			"Exposed/ResponderStarting, recheck 1m0s",
		},
		"a Pod that takes requests which it cannot answer is said": {
			snapshot(toPage(), responder(readyPod), armed, endpoints(ready("responder-1")), published),
			"Exposed/PortUnanswered",
		},
		"slices that are not published any more change nothing": {
			snapshot(toPage(), responder(readyPod), armed, down, published, inSlices()),
			"Arming/EndpointsUnknown",
		},
		"slices that are not published any more do not promote": {
			snapshot(toPage(), responder(readyPod), armed, inSlices()),
			"Arming/EndpointsUnknown",
		},
		"where no one asks any more, the slice goes": {
			snapshot(toPage(), responder(readyPod), armed, down, published, noPolicy), "unpublish shop-standby-ipv4, unpublish shop-standby-ipv4/responder-1",
		},
		"when the Service goes, so does the slice": {
			snapshot(toPage(), responder(readyPod), armed, down, published, noService), "unpublish shop-standby-ipv4, unpublish shop-standby-ipv4/responder-1",
		},
		"a Service whose owner opts out loses it": {
			snapshot(toPage(), responder(readyPod), armed, down, published, service(func(s *corev1.Service) {
				s.Annotations = map[string]string{criticalv2.AnnotationCriticalService: criticalv2.OptOut}
			})),
			"Ignored/OptedOut, unpublish shop-standby-ipv4, unpublish shop-standby-ipv4/responder-1",
		},
	}.run(t)
}

func TestDelays(t *testing.T) {
	down, up := endpoints(), endpoints(ready("shop-1"))
	promoted := func(options ...option) []option {
		return append([]option{toPage(), delays(0, time.Minute), responder(readyPod), armed, down, published}, options...)
	}
	table{
		"an outage is noted, and the standby is not promoted yet": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down),
			"Covered/StandbyServing, publish shop-standby-ipv4[page, outage-since 12:00:00], recheck 20s",
		},
		"where the slice that asks for the fallback is refused, the delay is noted with the Pod": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down, withoutRequest),
			"Covered/StandbyServing, publish shop-standby-ipv4[page, outage-since 12:00:00], publish shop-standby-ipv4/responder-1[page on 20000, outage-since 12:00:00], recheck 20s",
		},
		"and ends": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down, withoutRequest, published, withoutRequest, later(20*time.Second)),
			"Covered/StandbyServing, publish shop-standby-ipv4[page, outage-since 12:00:00], publish shop-standby-ipv4/responder-1[page on 20000, ready, outage-since 12:00:00]",
		},
		"once that slice is there, the note is taken off one of a Pod that does not answer": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down, withoutRequest, published, notRefused, responder(starting)),
			"Exposed/ResponderStarting, publish shop-standby-ipv4/responder-1[page on 20000], recheck 20s",
		},
		"while nothing is known of the endpoints, when the outage began stays noted": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down, published, later(5*time.Second), inSlices()),
			"Arming/EndpointsUnknown",
		},
		"while nothing is known of the endpoints, the Service is not known to have recovered": {
			snapshot(promoted(up, published, later(5*time.Second), inSlices())...),
			"Arming/EndpointsUnknown, publish shop-standby-ipv4[page]",
		},
		"it is waited for the rest of the delay": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down, published,
				noted(criticalv2.AnnotationOutageSince, now.Add(-15*time.Second))),
			"Covered/StandbyServing, recheck 5s",
		},
		"after the delay the standby is promoted, and the note stays for the outage": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down, published,
				noted(criticalv2.AnnotationOutageSince, now.Add(-20*time.Second))),
			"Covered/StandbyServing, publish shop-standby-ipv4/responder-1[page on 20000, ready]",
		},
		"a recovery within the delay takes the note off": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down, published, up),
			"Armed/StandbyReady, publish shop-standby-ipv4[page]",
		},
		"a note of the future counts from now": {
			snapshot(toPage(), delays(20*time.Second, 0), responder(readyPod), armed, down, published,
				noted(criticalv2.AnnotationOutageSince, now.Add(time.Hour))),
			"Covered/StandbyServing, publish shop-standby-ipv4[page, outage-since 12:00:00], recheck 20s",
		},
		"a recovery is noted, and the standby stays promoted": {
			snapshot(promoted(up)...),
			"Armed/StandbyReady, publish shop-standby-ipv4[page, recovered-since 12:00:00], recheck 1m0s",
		},
		"after the delay the standby is one again": {
			snapshot(promoted(up, published, noted(criticalv2.AnnotationRecoveredSince, now.Add(-time.Minute)))...),
			"Armed/StandbyReady, publish shop-standby-ipv4/responder-1[page on 20000]",
		},
		"and then the note is taken off": {
			snapshot(promoted(up, published, noted(criticalv2.AnnotationRecoveredSince, now.Add(-time.Minute)), published)...),
			"Armed/StandbyReady, publish shop-standby-ipv4[page]",
		},
		"what is seen demoted is not promoted again, while another slice is not": {
			snapshot(toPage(), delays(0, time.Minute), responder(readyPod), families(corev1.IPv4Protocol, corev1.IPv6Protocol), armed, down, published,
				up, published, noted(criticalv2.AnnotationRecoveredSince, now.Add(-time.Minute)), firstWritten),
			"Armed/StandbyReady, publish shop-standby-ipv6/responder-1[page on 20000]",
		},
		"an outage within the delay takes the note off": {
			snapshot(promoted(up, published, down)...),
			"Covered/FallbackServing, publish shop-standby-ipv4[page]",
		},
	}.run(t)
}

func TestPodThatIsPublished(t *testing.T) {
	onDemand, standing := toPod(criticalv2.ActivationOnDemand), toPod(criticalv2.ActivationStandby)
	down := endpoints()
	table{
		"on demand, its create is dry-run before the outage": {
			snapshot(onDemand, endpoints(ready("shop-1")), published),
			"Arming/DryRunPending, dry-run service-watcher-shop, recheck 1s",
		},
		"on demand, the Service is armed once the dry run was accepted": {
			snapshot(onDemand, endpoints(ready("shop-1")), published, accepted),
			"Armed/EndpointsReady, recheck 9m0s",
		},
		"on demand, it is made in the outage": {
			snapshot(onDemand, down, published),
			"Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"once it is ready it is published, promoted at once": {
			snapshot(onDemand, down, published, slicePod(readyPod)),
			"Exposed/FallbackStarting, publish shop-standby-ipv4/service-watcher-shop[podTemplate on 80, ready]",
		},
		"once it is published the Service is covered": {
			snapshot(onDemand, down, slicePod(readyPod), published),
			"Covered/FallbackServing",
		},
		"a Pod that is not ready is not published": {
			snapshot(onDemand, down, published, slicePod(waiting("ErrImagePull", "gone"))),
			"Exposed/FallbackFailing",
		},
		"its real container port is published, whatever the target port is": {
			snapshot(onDemand, down, containerPort(3000), published, slicePod(readyPod)),
			"Exposed/FallbackStarting, publish shop-standby-ipv4/service-watcher-shop[podTemplate on 3000, ready]",
		},
		"on demand, it steps aside after the recovery: out of the way at once, and answering a moment longer": {
			snapshot(onDemand, down, slicePod(readyPod), published, endpoints(ready("shop-1")), accepted),
			"Armed/EndpointsReady, publish shop-standby-ipv4/service-watcher-shop[podTemplate on 80], release service-watcher-shop, recheck 10s",
		},
		"on demand, it is deleted when it has drained": {
			snapshot(onDemand, endpoints(ready("shop-1")), slicePod(readyPod, released(10*time.Second)), published, accepted),
			"Armed/EndpointsReady, delete service-watcher-shop (Recovered)",
		},
		"on demand, the slice is empty once it has gone": {
			snapshot(onDemand, down, slicePod(readyPod), published, endpoints(ready("shop-1")), published, accepted, func(s *decide.Snapshot) { s.Pods = nil }),
			"Armed/EndpointsReady, unpublish shop-standby-ipv4/service-watcher-shop, recheck 9m0s",
		},
		"as a standby, it is made before the outage": {
			snapshot(standing, endpoints(ready("shop-1")), published),
			"Arming/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"as a standby, it is published when it is ready": {
			snapshot(standing, endpoints(ready("shop-1")), published, slicePod(readyPod)),
			"Arming/FallbackStarting, publish shop-standby-ipv4/service-watcher-shop[podTemplate on 80]",
		},
		"as a standby, it keeps the Service armed": {
			snapshot(standing, slicePod(readyPod), armed), "Armed/StandbyReady",
		},
		"a standby Pod is not given up for a template that may not be used": {
			snapshot(standing, slicePod(readyPod), armed, func(s *decide.Snapshot) {
				critical(s).Spec.Fallback.PodTemplate = &criticalv2.PodTemplateFallback{
					Name: "theirs", Namespace: "elsewhere", Activation: criticalv2.ActivationStandby, Publish: criticalv2.PublishEndpointSlice,
				}
				s.Template = nil
			}),
			"Armed/TemplateForbidden",
		},
		"nor for one that is gone, and that is said": {
			snapshot(standing, slicePod(readyPod), armed, noTemplate), "Armed/TemplateNotFound",
		},
		"nor in an outage": {
			snapshot(standing, slicePod(readyPod), armed, down, published, noTemplate), "Covered/TemplateNotFound",
		},
		"as a standby, it is promoted in the outage": {
			snapshot(standing, slicePod(readyPod), armed, down),
			"Covered/StandbyServing, publish shop-standby-ipv4/service-watcher-shop[podTemplate on 80, ready]",
		},
		"as a standby, it stays after the recovery": {
			snapshot(standing, slicePod(readyPod), armed, down, published, endpoints(ready("shop-1"))),
			"Armed/StandbyReady, publish shop-standby-ipv4/service-watcher-shop[podTemplate on 80]",
		},
		"as a standby, one that failed is replaced before the outage": {
			snapshot(standing, slicePod(evicted), endpoints(ready("shop-1")), published),
			"Arming/FallbackFailing, delete service-watcher-shop (Failed)",
		},
		"as a standby, it follows its template while the Service answers by itself, and asks first whether its successor would be accepted": {
			snapshot(standing, slicePod(readyPod, fromOldTemplate), armed),
			"Armed/StandbyReady, dry-run service-watcher-shop-next, recheck 1s",
		},
		"as a standby, it is given up once that is so": {
			snapshot(standing, slicePod(readyPod, fromOldTemplate), armed, acceptedNext),
			"Armed/StandbyReady, delete service-watcher-shop (Renewed), recheck 10m0s",
		},
		"as a standby that has fallen silent, it is given up, and asks first whether its successor would be accepted": {
			snapshot(standing, slicePod(readyPod), armed, silentPod), "Armed/StandbyReady, dry-run service-watcher-shop-next, recheck 1s",
		},
		"as a silent standby, it is given up once that is so": {
			snapshot(standing, slicePod(readyPod), armed, silentPod, acceptedNext),
			"Armed/StandbyReady, delete service-watcher-shop (Silent), recheck 10m0s",
		},
		"as a silent standby, it stays for a successor that is refused": {
			snapshot(standing, slicePod(readyPod), armed, silentPod, acceptedNext, func(s *decide.Snapshot) {
				s.Attempt.Reason, s.Attempt.Refusals = criticalv2.ReasonCreateDenied, 1
			}),
			"Armed/StandbyReady, recheck 1s",
		},
		"as a silent standby, it stays in an outage: perhaps clients hear it": {
			snapshot(standing, slicePod(readyPod), armed, down, published, silentPod, acceptedNext), "Covered/FallbackServing",
		},
		"as a silent standby that is not ready, it is left to the kubelet": {
			snapshot(standing, slicePod(), armed, silentPod, acceptedNext), "Arming/FallbackFailing",
		},
		"that another Pod has fallen silent does not matter": {
			snapshot(standing, slicePod(readyPod), armed, func(s *decide.Snapshot) { s.Silent = "another" }), "Armed/StandbyReady",
		},
		"as a standby, it is not given up for a successor that is refused": {
			snapshot(standing, slicePod(readyPod, fromOldTemplate), armed, acceptedNext, func(s *decide.Snapshot) {
				s.Attempt.Reason, s.Attempt.Refusals = criticalv2.ReasonCreateDenied, 1
			}),
			"Armed/StandbyReady, recheck 1s",
		},
		"as a standby, it is not given up for a successor that would not serve the ports": {
			snapshot(standing, slicePod(readyPod, fromOldTemplate), armed, service(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("web") }), acceptedNext),
			"Armed/PortMismatch, unpublish shop-standby-ipv4/service-watcher-shop",
		},
		"a published Pod of a headless Service goes from the slice with the Pod, though no other kind of fallback is to be had": {
			snapshot(service(headless), standing, slicePod(readyPod), armed, down, published, toPage(), podsGone),
			"Exposed/HeadlessUnsupported, unpublish shop-standby-ipv4/service-watcher-shop",
		},
		"it stays as long as the Pod does": {
			snapshot(service(headless), standing, slicePod(readyPod), armed, down, published, toPage()),
			"Covered/HeadlessUnsupported",
		},
		"as a standby, it does not follow its template in an outage": {
			snapshot(standing, slicePod(readyPod, fromOldTemplate), armed, down, published), "Covered/FallbackServing",
		},
		"a headless Service is protected this way": {
			snapshot(standing, slicePod(readyPod), service(headless), armed), "Armed/StandbyReady",
		},
		"a headless Service needs the very target port": {
			snapshot(standing, service(headless), containerPort(3000), endpoints(ready("shop-1")), published),
			"Arming/PortMismatch",
		},
		"a template of a third namespace may not be used, and the page stands in": {
			snapshot(func(s *decide.Snapshot) {
				critical(s).Spec.Fallback.PodTemplate = &criticalv2.PodTemplateFallback{Name: "theirs", Namespace: "elsewhere"}
			}, responder(readyPod), armed),
			"Armed/TemplateForbidden",
		},
		"where the operator may run no Pods, the page stands in": {
			snapshot(onDemand, noPods, responder(readyPod), armed), "Armed/PodsForbidden",
		},
		"a Pod that was made before it lost that right stays": {
			snapshot(standing, slicePod(readyPod), armed, down, published, noPods), "Covered/PodsForbidden",
		},
		"a template that does not exist is stood in for by the page": {
			snapshot(onDemand, noTemplate, responder(readyPod), armed), "Armed/TemplateNotFound",
		},
		"so it is for an object of version 1, and it answers in an outage": {
			snapshot(noTemplate, responder(readyPod), armed, down, published), "Covered/TemplateNotFound",
		},
		"a headless Service without a template has nothing": {
			snapshot(noTemplate, responder(readyPod), service(headless), down), "Exposed/TemplateNotFound",
		},
	}.run(t)
}

func TestBackupService(t *testing.T) {
	down := endpoints()
	table{
		"its ready endpoints become the standby, on its own ports": {
			snapshot(toService("spare"), backup("spare-1", "spare-2"), endpoints(ready("shop-1"))),
			"Arming/SlicePending, publish shop-standby-ipv4[service: spare-1+spare-2 on 9000]",
		},
		"once published, the Service is armed": {
			snapshot(toService("spare"), backup("spare-1"), armed), "Armed/StandbyReady",
		},
		"in an outage they are promoted": {
			snapshot(toService("spare"), backup("spare-1"), armed, down),
			"Covered/StandbyServing, publish shop-standby-ipv4[service: spare-1 on 9000, ready]",
		},
		"the slice is kept in step": {
			snapshot(toService("spare"), backup("spare-1"), armed, backup("spare-1", "spare-2")),
			"Armed/StandbyReady, publish shop-standby-ipv4[service: spare-1+spare-2 on 9000]",
		},
		"a backup that lost its endpoints is no dead endpoint": {
			snapshot(toService("spare"), backup("spare-1"), armed, backup()),
			"Arming/BackupNotReady, retract shop-standby-ipv4[service]",
		},
		"nor in an outage": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, published, backup()),
			"Exposed/BackupNotReady, retract shop-standby-ipv4[service]",
		},
		"an endpoint that a user added is not promoted": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, func(s *decide.Snapshot) {
				s.Standby[0].Endpoints = append(s.Standby[0].Endpoints, discoveryv1.Endpoint{
					Addresses: []string{"10.9.9.9"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)},
				})
			}),
			"Covered/StandbyServing, publish shop-standby-ipv4[service: spare-1 on 9000, ready], recheck 1s",
		},
		"slices that Kubernetes does not keep are no backup: their addresses may be anyone's": {
			snapshot(toService("spare"), backup("spare-1"), func(s *decide.Snapshot) { s.Backups["spare"].Slices[0].Labels = nil },
				endpoints(ready("shop-1")), published),
			"Arming/BackupUnsuitable",
		},
		"nor are those of a Service without a selector": {
			snapshot(toService("spare"), backup("spare-1"), func(s *decide.Snapshot) { s.Backups["spare"].Service.Spec.Selector = nil },
				endpoints(ready("shop-1")), published),
			"Arming/BackupUnsuitable",
		},
		"an endpoint that is published though it is not ready is no backup": {
			snapshot(toService("spare"), backup("spare-1"), func(s *decide.Snapshot) {
				s.Backups["spare"].Slices[0].Endpoints[0].Conditions.Serving = new(false)
			}, endpoints(ready("shop-1")), published),
			"Arming/BackupNotReady",
		},
		"an endpoint that is ending is no backup": {
			snapshot(toService("spare"), backup("spare-1"), func(s *decide.Snapshot) {
				s.Backups["spare"].Slices[0].Endpoints[0].Conditions.Terminating = new(true)
			}, endpoints(ready("shop-1")), published),
			"Arming/BackupNotReady",
		},
		"a backup that lacks an IP family of the Service is said": {
			snapshot(toService("spare"), backup("spare-1"), families(corev1.IPv4Protocol, corev1.IPv6Protocol), armed),
			"Arming/FamilyMissing",
		},
		"also in an outage": {
			snapshot(toService("spare"), backup("spare-1"), families(corev1.IPv4Protocol, corev1.IPv6Protocol), armed, down, published),
			"Covered/FamilyMissing",
		},
		"Pods that share an address are published once, in any order": {
			snapshot(toService("spare"), backup("spare-2", "spare-1"), func(s *decide.Snapshot) {
				for i := range s.Backups["spare"].Slices[0].Endpoints {
					s.Backups["spare"].Slices[0].Endpoints[i].Addresses = []string{"10.2.0.1"}
				}
			}, endpoints(ready("shop-1"))),
			"Arming/SlicePending, publish shop-standby-ipv4[service: spare-1 on 9000]",
		},
		"a backup that does not exist": {
			snapshot(toService("spare"), endpoints(ready("shop-1")), published), "Arming/BackupNotFound",
		},
		"a Service cannot back itself up": {
			snapshot(toService("shop"), backup("spare-1"), endpoints(ready("shop-1")), published), "Arming/BackupUnsuitable",
		},
		"a backup without the port is not suitable": {
			snapshot(toService("spare"), backup("spare-1"), service(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 81})
			}), endpoints(ready("shop-1")), published),
			"Arming/BackupUnsuitable",
		},
		"single ports need not have the same name": {
			snapshot(toService("spare"), backup("spare-1"), service(func(s *corev1.Service) { s.Spec.Ports[0].Name = "web" }),
				inSlices(discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: new("web"), Port: new(int32(80))}}})),
			"Exposed/SlicePending, publish shop-standby-ipv4[service: spare-1 on 9000, ready]",
		},
		"endpoints that are no Pods are not passed on": {
			snapshot(toService("spare"), backup("spare-1"), func(s *decide.Snapshot) { s.Backups["spare"].Slices[0].Endpoints[0].TargetRef = nil },
				endpoints(ready("shop-1")), published),
			"Arming/BackupUnsuitable",
		},
		"endpoints of another namespace are not passed on": {
			snapshot(toService("spare"), backup("spare-1"), func(s *decide.Snapshot) { s.Backups["spare"].Slices[0].Endpoints[0].TargetRef.Namespace = "elsewhere" },
				endpoints(ready("shop-1")), published),
			"Arming/BackupUnsuitable",
		},
		"a fallback Pod of the backup is not passed on, so that there is no loop": {
			snapshot(toService("spare"), backup("service-watcher-spare"), func(s *decide.Snapshot) {
				s.OtherFallbacks = otherFallback("service-watcher-spare")
			}, endpoints(ready("shop-1")), published),
			"Arming/BackupNotReady",
		},
	}.run(t)
}

func TestOneFallbackAfterAnother(t *testing.T) {
	down := endpoints()
	table{
		"a policy that turns to a page keeps its Pod until the page answers": {
			snapshot(fallback(readyPod), endpoints(ready(fallbackName)), toPage()),
			"Covered/FallbackServing, publish shop-standby-ipv4[page]",
		},
		"once the page answers, the Pod leaves": {
			snapshot(fallback(readyPod), endpoints(ready(fallbackName)), toPage(), responder(readyPod), published),
			"Covered/FallbackServing, release service-watcher-shop, recheck 10s",
		},
		"once the page answers, a Pod that was published leaves, although no slice lists it any more: proxies may know it": {
			snapshot(slicePod(readyPod), endpoints(), toPage(), responder(readyPod), published),
			"Covered/FallbackServing, release service-watcher-shop, recheck 10s",
		},
		"a template that comes in an outage brings its Pod, and the page answers until then": {
			snapshot(noTemplate, responder(readyPod), armed, down, published, func(s *decide.Snapshot) { s.Template = snapshot().Template }),
			"Covered/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"the page goes once the Pod answers": {
			snapshot(noTemplate, responder(readyPod), armed, down, published, func(s *decide.Snapshot) { s.Template = snapshot().Template },
				fallback(readyPod), endpoints(ready(fallbackName))),
			"Covered/FallbackServing, unpublish shop-standby-ipv4, unpublish shop-standby-ipv4/responder-1",
		},
		"a page that turns into a published Pod stays published, and asks for its responder, until the Pod is ready": {
			snapshot(toPage(), responder(readyPod), armed, down, published, toPod(criticalv2.ActivationOnDemand)),
			"Covered/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a page that stays until a published Pod is ready follows its responder": {
			snapshot(toPage(), responder(readyPod), armed, down, published, toPod(criticalv2.ActivationOnDemand), responder(readyEnding, readyPod)),
			"Covered/FallbackStarting, publish shop-standby-ipv4/responder-2[page on 20000, ready], create service-watcher-shop, recheck 1s",
		},
		"so does one that stays until a selected Pod is ready": {
			snapshot(noTemplate, responder(readyPod), armed, down, published, func(s *decide.Snapshot) { s.Template = snapshot().Template },
				responder(readyEnding, readyPod)),
			"Covered/FallbackStarting, publish shop-standby-ipv4/responder-2[page on 20000, ready], create service-watcher-shop, recheck 1s",
		},
		"and one that stays until a backup is ready": {
			snapshot(toPage(), responder(readyPod), armed, down, published, toService("spare"), responder(readyEnding, readyPod)),
			"Covered/FallbackServing, publish shop-standby-ipv4/responder-2[page on 20000, ready]",
		},
		"it asks for its responder even while that has no Pod": {
			snapshot(toPage(), responder(readyPod), armed, down, published, toPod(criticalv2.ActivationOnDemand), responder()),
			"Exposed/FallbackStarting, unpublish shop-standby-ipv4/responder-1, create service-watcher-shop, recheck 1s",
		},
		"a backup that is not wanted any more answers until the page can, which is asked for": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, published, toPage()),
			"Covered/FallbackServing, publish shop-standby-ipv4[page: spare-1 on 9000, ready]",
		},
		"it does so while the page is on its way": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, published, toPage(), published, responder(starting)),
			"Covered/FallbackServing",
		},
		"then the page takes its place in one write": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, published, toPage(), published, responder(readyPod)),
			"Covered/FallbackServing, publish shop-standby-ipv4/responder-1[page on 20000, ready]",
		},
		"a backup that is not wanted any more answers until a published Pod can": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, published, toPod(criticalv2.ActivationOnDemand)),
			"Covered/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a backup that is not wanted any more answers until a selected Pod can": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, published, fallsBackTo(byLabels())),
			"Covered/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a backup that is not wanted any more answers until another can": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, published, toService("other")),
			"Covered/FallbackServing",
		},
		"a former backup that dies is no dead endpoint": {
			snapshot(toService("spare"), backup("spare-1"), armed, down, published, toService("other"), backup()),
			"Exposed/BackupNotFound, retract shop-standby-ipv4[service]",
		},
		"then the Pod takes its place in one write": {
			snapshot(toPage(), responder(readyPod), armed, down, published, toPod(criticalv2.ActivationOnDemand), slicePod(readyPod)),
			"Covered/FallbackStarting, publish shop-standby-ipv4/service-watcher-shop[podTemplate on 80, ready]",
		},
		"a published Pod that turns into a page stays until the responder is ready": {
			snapshot(toPod(criticalv2.ActivationStandby), slicePod(readyPod), armed, down, published, toPage()),
			"Covered/FallbackServing, publish shop-standby-ipv4[page]",
		},
	}.run(t)
}

// TestARefusedSliceIsKnownAtOnce: the answer of the API server is there, and the
// status must not wait for another.
func TestARefusedSliceIsKnownAtOnce(t *testing.T) {
	g := NewWithT(t)
	plan := decide.Decide(snapshot(toPage(), endpoints(ready("shop-1")), responder(readyPod), func(s *decide.Snapshot) {
		s.Refusal = &decide.Refusal{Reason: criticalv2.ReasonCreateDenied}
	}))
	g.Expect(plan.Reason).To(Equal(criticalv2.ReasonCreateDenied))
	g.Expect(plan.Provisional).To(BeFalse())
}

// TestMessagesName holds what a person reads to what they need.
func TestMessagesName(t *testing.T) {
	tests := map[string]struct {
		given decide.Snapshot
		want  []string
	}{
		"the Pods that would answer": {
			snapshot(toPage(), responder(readyPod, readyPod), armed), []string{`"responder-1"`, "1 more"},
		},
		"what denies the Pods of the responder, and what to allow": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(), published, failing("exceeded quota: pods=10")),
			[]string{"exceeded quota: pods=10", "Allow its Pods (quota", "the operator retries"},
		},
		"where to look at Pods of the responder that do not come up": {
			snapshot(toPage(), endpoints(ready("shop-1")), responder(starting), published, failing("it has timed out progressing")),
			[]string{"it has timed out progressing", "kubectl describe pod -n", "RESPONDER_IMAGE"},
		},
		"the ConfigMap and the label it needs": {
			snapshot(toContent("ours"), responder(readyPod), armed), []string{`"ours"`, "mycrd.com/responder: content", "built-in page"},
		},
		"the key that is not valid": {
			snapshot(toContent("ours"), withContent(map[string]string{"503.json": "{"}), responder(readyPod), armed), []string{"503.json"},
		},
		"the namespaces a template may come from": {
			snapshot(func(s *decide.Snapshot) {
				critical(s).Spec.Fallback.PodTemplate = &criticalv2.PodTemplateFallback{Name: "theirs", Namespace: "elsewhere"}
			}, armed),
			[]string{"elsewhere/theirs", `"system"`, "own"},
		},
		"that the Service answers by itself, though its standby lacks a port": {
			snapshot(toPod(criticalv2.ActivationStandby), slicePod(readyPod), armed, service(func(s *corev1.Service) {
				s.Spec.Ports[0].TargetPort = intstr.FromString("web")
			})),
			[]string{"The Service answers by itself", "targetPort web"},
		},
		"the port that the backup lacks": {
			snapshot(toService("spare"), backup("spare-1"), service(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 81})
			})),
			[]string{`"spare"`, `"admin" (81)`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan := decide.Decide(test.given)
			for _, text := range test.want {
				g.Expect(plan.Message).To(ContainSubstring(text))
			}
		})
	}
}

// Until the content was read, the status says what it said before.
func TestWhatIsSaidOfContentThatWasNotReadIsProvisional(t *testing.T) {
	g := NewWithT(t)
	plan := decide.Decide(snapshot(toContent("ours"), unread, responder(readyPod), armed))
	g.Expect(plan.Provisional).To(BeTrue())
	plan = decide.Decide(snapshot(toContent("ours"), withContent(nil), responder(readyPod), armed))
	g.Expect(plan.Provisional).To(BeFalse())
}
