package v2

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Keys of a ConfigMap with the label mycrd.com/responder: maintenance. All but the
// first are optional.
const (
	// MaintenanceService names the Service, in the namespace of the ConfigMap.
	MaintenanceService = "service"
	// MaintenanceMessage is a sentence for people: one line of text. Where there is
	// one, the built-in page with it goes before a team's own page.
	MaintenanceMessage = "message"
	// MaintenanceUntil is when the maintenance ends (RFC 3339).
	MaintenanceUntil = "until"
	// MaintenanceAnnounce is "false" where nothing is announced to clients: the Service
	// keeps its fallback, and only its application is restored at the end.
	MaintenanceAnnounce = "announce"
	// MaintenanceWorkload is what was scaled to zero, as RESOURCE.GROUP/NAME, for
	// example deployments.apps/storefront.
	MaintenanceWorkload = "workload"
	// MaintenanceReplicas is how many replicas the workload gets back at the end.
	MaintenanceReplicas = "replicas"
)

// MaintenanceGrace is how long a maintenance that is over goes on being announced
// while the application is not back yet.
const MaintenanceGrace = 5 * time.Minute

// MaxMaintenanceMessage is the greatest length of a message in characters, as that
// of spec.fallback.page.message.
const MaxMaintenanceMessage = 1024

// MaxMaintenanceReplicas is the greatest number of replicas that a workload gets back:
// more than any has, and few enough for a cluster to survive a mistake.
const MaxMaintenanceReplicas = 10_000

// Announcement is what clients see of a maintenance.
type Announcement struct {
	// Message is a sentence for people, or empty.
	Message string `json:"message,omitempty"`
	// Until is when the Service is expected back, to the second; nil if that is not known.
	Until *metav1.Time `json:"until,omitempty"`
}

// Maintenance is a planned time during which a Service's application is away.
//
// +kubebuilder:object:generate=false
type Maintenance struct {
	Announcement
	// Service is its name.
	Service string
	// Silent is true where nothing is announced to clients.
	Silent bool
	// Workload is what was scaled to zero; nil if nothing was.
	Workload *MaintainedWorkload
}

// MaintainedWorkload is an object with a scale.
//
// +kubebuilder:object:generate=false
type MaintainedWorkload struct {
	// Resource is for example deployments.apps.
	Resource schema.GroupResource
	// Name of the object, in the namespace of the Service.
	Name string
	// Replicas is how many it had before.
	Replicas int32
}

// String is the form in which the ConfigMap names it.
func (w *MaintainedWorkload) String() string { return w.Resource.String() + "/" + w.Name }

// MaintenanceName is the name of the ConfigMap by which the plugin announces a
// maintenance of a Service. Others may choose any name.
func MaintenanceName(service string) string { return service + "-maintenance" }

// ParseMaintenance reads the keys of a ConfigMap. An error names the key and what is
// valid there.
func ParseMaintenance(data map[string]string) (*Maintenance, error) {
	m := &Maintenance{Service: data[MaintenanceService]}
	if len(validation.IsDNS1123Label(m.Service)) > 0 {
		return nil, fmt.Errorf("key %q: %.80q is not the name of a Service of this namespace", MaintenanceService, m.Service)
	}
	var err error
	if m.Message, err = parseMessage(data[MaintenanceMessage]); err != nil {
		return nil, err
	}
	if m.Until, err = parseUntil(data[MaintenanceUntil]); err != nil {
		return nil, err
	}
	if text := data[MaintenanceAnnounce]; text != "" {
		announce, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("key %q: %.40q is neither true nor false", MaintenanceAnnounce, text)
		}
		m.Silent = !announce
	}
	m.Workload, err = parseWorkload(data[MaintenanceWorkload], data[MaintenanceReplicas])
	return m, err
}

// ParseMaintenanceDebt reads of a ConfigMap only what has to be restored, and when, so
// that this is not lost because another key is invalid. An invalid end is none, and an
// invalid Service is the one after which the plugin would have named the ConfigMap. An
// error means that the debt itself is invalid.
func ParseMaintenanceDebt(name string, data map[string]string) (*Maintenance, error) {
	workload, err := parseWorkload(data[MaintenanceWorkload], data[MaintenanceReplicas])
	if err != nil {
		return nil, err
	}
	m := &Maintenance{Service: data[MaintenanceService], Workload: workload}
	if len(validation.IsDNS1123Label(m.Service)) > 0 {
		m.Service = strings.TrimSuffix(name, MaintenanceName(""))
	}
	if until, err := parseUntil(data[MaintenanceUntil]); err == nil {
		m.Until = until
	}
	return m, nil
}

func parseMessage(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text), strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("key %q: it must be one line of text, without line breaks and other control characters", MaintenanceMessage)
	case utf8.RuneCountInString(text) > MaxMaintenanceMessage:
		return "", fmt.Errorf("key %q: it has more than %d characters", MaintenanceMessage, MaxMaintenanceMessage)
	}
	return text, nil
}

func parseUntil(text string) (*metav1.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	// A year that does not fit could not be written again.
	if err != nil || at.Year() > 9998 || at.Year() < 1 {
		return nil, fmt.Errorf("key %q: %.40q is not a date with time and zone (RFC 3339), such as 2030-01-31T18:30:00+01:00", MaintenanceUntil, text)
	}
	until := metav1.NewTime(at.Truncate(time.Second).UTC())
	return &until, nil
}

func parseWorkload(text, replicas string) (*MaintainedWorkload, error) {
	if text == "" {
		return nil, nil
	}
	resource, name, found := strings.Cut(text, "/")
	if !found || resource == "" || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, fmt.Errorf("key %q: %.80q is not of the form RESOURCE.GROUP/NAME, such as deployments.apps/storefront", MaintenanceWorkload, text)
	}
	count, err := strconv.ParseInt(replicas, 10, 32)
	if err != nil || count < 0 || count > MaxMaintenanceReplicas {
		return nil, fmt.Errorf("key %q: %.40q is not a number of replicas, and a workload needs one (at most %d)", MaintenanceReplicas, replicas, MaxMaintenanceReplicas)
	}
	return &MaintainedWorkload{Resource: schema.ParseGroupResource(resource), Name: name, Replicas: int32(count)}, nil
}

// Data is what ParseMaintenance reads.
func (m *Maintenance) Data() map[string]string {
	data := map[string]string{MaintenanceService: m.Service}
	if m.Message != "" {
		data[MaintenanceMessage] = m.Message
	}
	if m.Until != nil {
		data[MaintenanceUntil] = m.Until.UTC().Format(time.RFC3339)
	}
	if m.Silent {
		data[MaintenanceAnnounce] = "false"
	}
	if m.Workload != nil {
		data[MaintenanceWorkload] = m.Workload.String()
		data[MaintenanceReplicas] = strconv.Itoa(int(m.Workload.Replicas))
	}
	return data
}

// IsOver reports whether the maintenance has reached its end. One without an end
// never does by itself.
func (m *Maintenance) IsOver(now time.Time) bool {
	return m.Until != nil && !now.Before(m.Until.Time)
}

// IsExpired reports whether it has been over for so long that the application is no
// longer waited for.
func (m *Maintenance) IsExpired(now time.Time) bool {
	return m.Until != nil && !now.Before(m.Until.Add(MaintenanceGrace))
}

// Announces reports whether clients see the maintenance now if the application is away:
// until its end, and a while longer, in which the application comes back.
func (m *Maintenance) Announces(now time.Time) bool {
	return !m.Silent && !m.IsExpired(now)
}
