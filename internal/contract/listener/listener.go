// Package listener is the contract between the operator and the responder: the
// table that says which port of a responder Pod stands in for which port of
// which Service. The operator writes it into a ConfigMap; the responder reads it
// as a mounted file.
package listener

import (
	criticalv2 "github.com/critical-service/operator/api/v2"
)

const (
	// First is the lowest port of a listener.
	First int32 = 20000
	// Last is the highest port of a listener. Linux takes ports for outgoing
	// connections from those above.
	Last int32 = 32767

	// Key is the key of the table in the ConfigMap, and the name of the file.
	Key = "listeners.json"

	// Program is the path of the responder in its image, which is the operator's and
	// runs the operator unless it is given a command.
	Program = "/responder"
)

// Table is all that the responder of one namespace stands in for, sorted by port.
type Table struct {
	Listeners []Listener `json:"listeners"`
	// Next is where the operator looks for a free port first, so that a port that
	// was given back is used again last. The responder does not need it.
	Next int32 `json:"next,omitempty"`
}

// Listener is one port of the responder.
type Listener struct {
	// Port of the responder Pod.
	Port int32 `json:"port"`
	// Service whose port it stands in for.
	Service string `json:"service"`
	// PortName is the name of the Service's port; the port of a Service with a
	// single port may have none.
	PortName string `json:"portName,omitempty"`
	// ServicePort is the number of the Service's port.
	ServicePort int32 `json:"servicePort"`
	// AppProtocol is the Service port's, and may be empty.
	AppProtocol string `json:"appProtocol,omitempty"`
	// Page is what to answer. Listeners with the same page share it: it is never changed.
	Page *criticalv2.PageFallback `json:"page"`
	// Maintenance is what is announced for the Service; nil if nothing is.
	Maintenance *criticalv2.Announcement `json:"maintenance,omitempty"`
}

// Find is the port that stands in for a port of a Service.
func (t *Table) Find(service, portName string) (port int32, found bool) {
	for i := range t.Listeners {
		if l := &t.Listeners[i]; l.Service == service && l.PortName == portName {
			return l.Port, true
		}
	}
	return 0, false
}

// ByService are the listeners of each Service.
func (t *Table) ByService() map[string][]Listener {
	listeners := map[string][]Listener{}
	for _, l := range t.Listeners {
		listeners[l.Service] = append(listeners[l.Service], l)
	}
	return listeners
}
