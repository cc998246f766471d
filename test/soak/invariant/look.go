// Package invariant says what must hold in a soak at every moment, whatever fault happens. Pure.
//
//	look.go     what was read of the world at one moment
//	finding.go  what it has against the invariants; each is a function
//	ledger.go   since when: most may be found for a while
//	settled.go  what must hold before and after all faults
//	answers.go  what clients got of late
//	change.go   what changed between two looks, for people
package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// Look is what was read of one namespace at one moment.
type Look struct {
	At       time.Time
	Services []corev1.Service
	Slices   []discoveryv1.EndpointSlice
	Pods     []corev1.Pod
	// Operators are the Pods of the operator, which are in another namespace.
	Operators []corev1.Pod
	// Policies are all CriticalServices, and the ServiceFallbacks of the namespace.
	Policies []criticalv2.Policy
	// Maintenances are those of the namespace.
	Maintenances []criticalv2.Maintenance
	// Others are the Deployments, ReplicaSets, ConfigMaps and PodDisruptionBudgets. They have their kind.
	Others []metav1.PartialObjectMetadata
	// Answered is, for each Service that clients ask all the time, the latest of its Answers.
	Answered map[string]time.Time
}

// watched is a Service that clients ask, and what follows from a look for it.
type watched struct {
	service *corev1.Service
	// governor is the policy that protects it; nil if none does.
	governor criticalv2.Policy
	// ready is how many endpoints of its own are ready, and standby how many of the operator's take traffic, now or when
	// there are no others.
	ready, standby int
	promoted       bool
	// silent: not even half of the requests were answered, for longer than a request may take.
	silent bool
}

// silence is how old the latest of its Answers is when a Service is silent. A request of the soak's clients takes two seconds at
// most, and holds back what is known of later ones.
const silence = 4 * time.Second

// watched are the Services that clients ask.
func (l *Look) watched() []watched {
	ours := protection.OursAmong(l.Pods)
	var all []watched
	for i := range l.Services {
		service := &l.Services[i]
		answered, isAsked := l.Answered[service.Name]
		if !isAsked {
			continue
		}
		own := l.slicesOf(service)
		w := watched{service: service, ready: len(protection.OwnReady(service, own, ours)), silent: l.At.Sub(answered) > silence}
		if governor := protection.Governor(l.Policies, service, nil); !protection.OptedOut(service, governor) {
			w.governor = governor
		}
		for j := range own {
			if slice := &own[j]; protection.IsStandby(slice) {
				w.promoted = w.promoted || protection.IsPromoted(slice)
				w.standby += takingTraffic(service, slice)
			}
		}
		all = append(all, w)
	}
	return all
}

func (l *Look) slicesOf(service *corev1.Service) []discoveryv1.EndpointSlice {
	return slices.DeleteFunc(slices.Clone(l.Slices), func(slice discoveryv1.EndpointSlice) bool {
		return slice.Labels[discoveryv1.LabelServiceName] != service.Name
	})
}

// takingTraffic is how many endpoints of a slice proxies use while the Service has no others.
func takingTraffic(service *corev1.Service, slice *discoveryv1.EndpointSlice) int {
	if !protection.CarriesTraffic(service, slice) {
		return 0
	}
	count := 0
	for i := range slice.Endpoints {
		if protection.IsReady(&slice.Endpoints[i]) || ptr.Deref(slice.Endpoints[i].Conditions.Serving, true) {
			count++
		}
	}
	return count
}

// object is an object of the operator, or one of a user: it may own that.
type object struct {
	metav1.Object
	kind string
	// operators: the operator has made it.
	operators bool
}

func (l *Look) objects() []object {
	var all []object
	for i := range l.Slices {
		all = append(all, object{&l.Slices[i], "EndpointSlice", protection.MadeByOperator(&l.Slices[i])})
	}
	for i := range l.Pods {
		all = append(all, object{&l.Pods[i], "Pod", protection.IsOurs(&l.Pods[i])})
	}
	for i := range l.Others {
		part := l.Others[i].Labels[criticalv2.LabelResponder]
		ofResponder := part == criticalv2.ResponderServer || part == criticalv2.ResponderListeners
		all = append(all, object{&l.Others[i], l.Others[i].Kind, ofResponder})
	}
	for i := range l.Services {
		all = append(all, object{&l.Services[i], "Service", false})
	}
	for _, policy := range l.Policies {
		all = append(all, object{policy, policy.PolicyKind().Kind, false})
	}
	for i := range l.Maintenances {
		all = append(all, object{&l.Maintenances[i], "Maintenance", false})
	}
	return all
}

func uids(objects []object) map[types.UID]bool {
	found := map[types.UID]bool{}
	for _, object := range objects {
		found[object.GetUID()] = true
	}
	return found
}
