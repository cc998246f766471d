package invariant

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// Changes are what is different since an earlier look, of Pods and endpoints: which of them could answer when a request
// failed. The earlier one is nil at first.
func Changes(before, after *Look) []string {
	was, is := before.states(), after.states()
	var changes []string
	for _, what := range slices.Sorted(maps.Keys(is)) {
		if was[what] != is[what] {
			changes = append(changes, what+": "+is[what])
		}
	}
	for _, what := range slices.Sorted(maps.Keys(was)) {
		if _, remains := is[what]; !remains {
			changes = append(changes, what+": gone")
		}
	}
	return changes
}

// states are those of each Pod, and of the endpoints of each EndpointSlice.
func (l *Look) states() map[string]string {
	states := map[string]string{}
	if l == nil {
		return states
	}
	for i := range l.Pods {
		pod := &l.Pods[i]
		state := []string{pod.Status.PodIP + " on " + pod.Spec.NodeName, string(pod.Status.Phase)}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady {
				state = append(state, "ready "+string(condition.Status))
			}
		}
		if pod.DeletionTimestamp != nil {
			state = append(state, "terminating")
		}
		states["Pod "+pod.Name] = strings.Join(state, ", ")
	}
	for i := range l.Slices {
		slice := &l.Slices[i]
		var endpoints []string
		for _, endpoint := range slice.Endpoints {
			c := endpoint.Conditions
			endpoints = append(endpoints, fmt.Sprintf("%s ready %t serving %t terminating %t", strings.Join(endpoint.Addresses, " "),
				ptr.Deref(c.Ready, true), ptr.Deref(c.Serving, true), ptr.Deref(c.Terminating, false)))
		}
		states[fmt.Sprintf("EndpointSlice %s of %s", slice.Name, slice.Labels[discoveryv1.LabelServiceName])] = strings.Join(endpoints, "; ")
	}
	return states
}
