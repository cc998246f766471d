package invariant

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/write"
)

type change = func(*Look)

const shop = "Service shop"

// Fields as the API server notes them. The last are those of the finalizer that the operator gives to a Maintenance.
const (
	someSpec   = `{"f:spec":{"f:replicas":{}}}`
	someLabel  = `{"f:metadata":{"f:labels":{"f:critical":{}}}}`
	someStatus = `{"f:status":{"f:observedGeneration":{}}}`
	restore    = `{"f:metadata":{"f:finalizers":{".":{},"v:\"mycrd.com/restore\"":{}}}}`
)

func TestFindings(t *testing.T) {
	tests := map[string]struct {
		changes []change
		want    []Finding
	}{
		"a calm world has none": {},
		"a fallback that stands in is as it should be": {
			changes: []change{outage, promote},
		},
		"a fallback that is promoted beside a ready endpoint has to be demoted, after the delay": {
			changes: []change{promote}, want: []Finding{{Demoted, shop, demotionLimit + 5*time.Second}},
		},
		"and at once, where no policy is left": {
			changes: []change{promote, deletePolicy},
			want:    append([]Finding{{Demoted, shop, demotionLimit}}, ofTheResponder()...),
		},
		"a Service that is silent though it has a standby has to be answered": {
			changes: []change{fallSilent}, want: []Finding{{Answered, shop, unansweredLimit}},
		},
		"a Service whose standby does not answer in an outage breaks two": {
			changes: []change{outage, fallSilent},
			want:    []Finding{{Answered, shop, unansweredLimit}, {Covered, shop, exposedLimit + 2*time.Second}},
		},
		"an endpoint that is not serving is no standby": {
			changes: []change{fallSilent, func(look *Look) { look.Slices[1].Endpoints[0].Conditions.Serving = new(false) }},
		},
		"a slice without the port of the Service is no standby": {
			changes: []change{fallSilent, func(look *Look) { look.Slices[1].Ports[0].Name = new("other") }},
		},
		"a Service without endpoints and standby has to be covered, after the delay": {
			changes: []change{outage, withdraw, fallSilent}, want: []Finding{{Covered, shop, exposedLimit + 2*time.Second}},
		},
		"one that is answered all the same is covered": {
			changes: []change{outage, withdraw},
		},
		"one that opted out is not": {
			changes: []change{outage, withdraw, fallSilent, optOut},
		},
		"one that clients do not ask is not": {
			changes: []change{outage, withdraw, fallSilent, func(look *Look) { look.Answered = nil }},
		},
		"what a policy owned goes with it": {
			changes: []change{deletePolicy, withdraw}, want: ofTheResponder(),
		},
		"one owner of several is enough": {
			changes: []change{func(look *Look) {
				look.Others[0].OwnerReferences = append(look.Others[0].OwnerReferences, metav1.OwnerReference{Name: "gone", UID: "gone"})
			}},
		},
		"an object that was made without an owner is an orphan": {
			changes: []change{func(look *Look) { look.Slices[1].OwnerReferences = nil }},
			want:    []Finding{{Owned, "EndpointSlice shop-standby (UID shop-standby)", orphanLimit}},
		},
		"an owner of the same name that was made again owns nothing": {
			changes: []change{func(look *Look) { look.Policies[0].SetUID("another") }}, want: ofTheResponder(),
		},
		"the content of a team needs no owner": {
			changes: []change{func(look *Look) {
				look.Others = append(look.Others, ofKind("ConfigMap", "content", criticalv2.ResponderContent, ""))
			}},
		},
		"a published Pod that is gone leaves an address, and an orphan": {
			changes: []change{func(look *Look) { look.Pods = look.Pods[:1] }},
			want: []Finding{
				{Owned, "EndpointSlice shop-standby (UID shop-standby)", orphanLimit},
				{Published, "EndpointSlice shop-standby, address 10.0.0.9", vanishedLimit},
			},
		},
		"a published address has to be that of its Pod": {
			changes: []change{func(look *Look) { look.Pods[1].Status.PodIPs[0] = corev1.PodIP{IP: "10.0.0.7"} }},
			want:    []Finding{{Published, "EndpointSlice shop-standby, address 10.0.0.9", vanishedLimit}},
		},
		"a published address that another Pod has by now is wrong": {
			changes: []change{func(look *Look) {
				look.Pods[0].Status.PodIPs, look.Pods[1].Status.PodIPs = look.Pods[1].Status.PodIPs, nil
			}},
			want: []Finding{{Published, "EndpointSlice shop-standby, address 10.0.0.9", vanishedLimit}},
		},
		"the slices of another Service do not count": {
			changes: []change{outage, withdraw, fallSilent, func(look *Look) {
				other := slice("cart-own", "shop-1", "10.0.0.1", true)
				other.Labels[discoveryv1.LabelServiceName] = "cart"
				look.Slices = append(look.Slices, other)
			}},
			want: []Finding{{Covered, shop, exposedLimit + 2*time.Second}},
		},
		"a published address without a Pod is none": {
			changes: []change{func(look *Look) { look.Slices[1].Endpoints[0].TargetRef = nil }},
			want:    []Finding{{Published, "EndpointSlice shop-standby, address 10.0.0.9", vanishedLimit}},
		},
		"a second fallback Pod may drain, but not stay": {
			changes: []change{func(look *Look) { look.Pods = append(look.Pods, standIn("a"), standIn("b"), standIn("c")) }},
			want:    []Finding{{Single, shop, singleLimit}},
		},
		"one beside another that is being deleted is one": {
			changes: []change{func(look *Look) {
				ending := standIn("a")
				ending.DeletionTimestamp = new(metav1.NewTime(now))
				look.Pods = append(look.Pods, ending, standIn("b"))
			}},
		},
		"a policy that was changed is to be reported": {
			changes: []change{func(look *Look) { look.Policies[0].SetGeneration(2) }},
			want:    []Finding{{Reported, "CriticalService policy", reportedLimit}},
		},
		"the Service is its user's": {
			changes: []change{func(look *Look) { wroteTo(&look.Services[0], "", someLabel) }}, want: []Finding{{Untouched, shop, 0}},
		},
		"so are the workload, its Pods and its slices": {
			changes: []change{func(look *Look) {
				wroteTo(&look.Others[3], "", someSpec)
				wroteTo(&look.Pods[0], "", restore)
				wroteTo(&look.Slices[0], "", someLabel)
			}},
			want: []Finding{{Untouched, "EndpointSlice shop-own", 0}, {Untouched, "Pod shop-1", 0}, {Untouched, "Deployment shop-app", 0}},
		},
		"so is the status of all but policies and Maintenances": {
			changes: []change{func(look *Look) {
				wroteTo(&look.Services[0], "status", someStatus)
				wroteTo(&look.Pods[0], "status", someStatus)
			}},
			want: []Finding{{Untouched, shop, 0}, {Untouched, "Pod shop-1", 0}},
		},
		"the spec of a policy is its user's, whatever else the operator writes": {
			changes: []change{func(look *Look) {
				wroteTo(look.Policies[0], "status", someStatus)
				wroteTo(look.Policies[0], "", someSpec)
			}},
			want: []Finding{{Untouched, "CriticalService policy", 0}},
		},
		"so are its labels": {
			changes: []change{func(look *Look) { wroteTo(look.Policies[0], "", someLabel) }},
			want:    []Finding{{Untouched, "CriticalService policy", 0}},
		},
		"a policy gets no finalizer": {
			changes: []change{func(look *Look) { wroteTo(look.Policies[0], "", restore) }},
			want:    []Finding{{Untouched, "CriticalService policy", 0}},
		},
		"a Maintenance gets its finalizer, and a status": {
			changes: []change{func(look *Look) {
				wroteTo(&look.Maintenances[0], "", restore)
				wroteTo(&look.Maintenances[0], "status", someStatus)
			}},
		},
		"the finalizer may come into a list that there is": {
			changes: []change{func(look *Look) {
				wroteTo(&look.Maintenances[0], "", `{"f:metadata":{"f:finalizers":{"v:\"mycrd.com/restore\"":{}}}}`)
			}},
		},
		"another finalizer is not the operator's": {
			changes: []change{func(look *Look) {
				wroteTo(&look.Maintenances[0], "", `{"f:metadata":{"f:finalizers":{".":{},"v:\"example.com/keep\"":{}}}}`)
			}},
			want: []Finding{{Untouched, "Maintenance move", 0}},
		},
		"another one beside it is not, either": {
			changes: []change{func(look *Look) {
				wroteTo(&look.Maintenances[0], "", strings.Replace(restore, `".":{}`, `"v:\"example.com/keep\"":{}`, 1))
			}},
			want: []Finding{{Untouched, "Maintenance move", 0}},
		},
		"nor is a label beside it": {
			changes: []change{func(look *Look) {
				wroteTo(&look.Maintenances[0], "", strings.Replace(restore, `"f:finalizers"`, `"f:labels":{"f:critical":{}},"f:finalizers"`, 1))
			}},
			want: []Finding{{Untouched, "Maintenance move", 0}},
		},
		"nor is the spec of a Maintenance": {
			changes: []change{func(look *Look) { wroteTo(&look.Maintenances[0], "", someSpec) }},
			want:    []Finding{{Untouched, "Maintenance move", 0}},
		},
		"fields that say nothing are not the status": {
			changes: []change{func(look *Look) {
				look.Maintenances[0].ManagedFields = []metav1.ManagedFieldsEntry{{Manager: write.FieldManager}}
			}},
			want: []Finding{{Untouched, "Maintenance move", 0}},
		},
		"what others write is theirs": {
			changes: []change{func(look *Look) {
				look.Policies[0].SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(someSpec)}})
			}},
		},
		"a process of the operator, or of a responder, may not end by itself": {
			changes: []change{func(look *Look) {
				restarted := corev1.ContainerStatus{Name: "it", RestartCount: 1}
				look.Operators[1].Status.ContainerStatuses[0] = restarted
				look.Pods[1].Status.ContainerStatuses = []corev1.ContainerStatus{restarted}
			}},
			want: []Finding{
				{Living, "Pod operator-2, container it: nil", 0}, {Living, "Pod critical-service-responder-1, container it: nil", 0},
			},
		},
		"one of a user may": {
			changes: []change{func(look *Look) { look.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} }},
		},
		"its own objects the operator writes, and the status of policies": {
			changes: []change{func(look *Look) {
				wroteTo(&look.Slices[1], "", someLabel)
				wroteTo(&look.Pods[1], "status", someStatus)
				wroteTo(&look.Others[0], "", someSpec)
				wroteTo(look.Policies[0], "status", someStatus)
			}},
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			look := calm()
			for _, change := range test.changes {
				change(look)
			}
			NewWithT(t).Expect(Findings(look)).To(ConsistOf(test.want))
		})
	}
}

// ofTheResponder are the orphans that a policy leaves which was the only owner of a responder.
func ofTheResponder() []Finding {
	return []Finding{
		{Owned, "Deployment critical-service-responder (UID critical-service-responder)", orphanLimit},
		{Owned, "ConfigMap critical-service-responder-table (UID critical-service-responder-table)", orphanLimit},
	}
}

// standIn is a fallback Pod of the Service.
func standIn(name string) corev1.Pod {
	pod := pod(name, "10.0.0.20")
	pod.Labels = map[string]string{criticalv2.LabelFallbackFor: "shop"}
	pod.Annotations = map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
		&metav1.ObjectMeta{Name: "policy", UID: "policy"}, criticalv2.CriticalServiceKind)}
	return pod
}
