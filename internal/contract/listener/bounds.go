package listener

import (
	"errors"
	"fmt"
	"unicode/utf8"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// most is how many listeners a table can have.
const most = int(Last-First) + 1

// The bounds of texts. Those of a page are the schema's; those of a Service are what
// Kubernetes accepts.
const (
	maxMessage    = 1024
	maxConfigMap  = 253
	maxProbes     = 32
	maxPath       = 256
	maxUserAgent  = 128
	maxLabel      = 63
	maxQualified  = 317
	minStatusCode = 400
	maxStatusCode = 599
	maxRetryAfter = 86400
)

// check holds a table to its bounds. The pages are no more than the listeners, and
// every listener has one of them and a port of its own.
func (s *stored) check() error {
	if len(s.Pages) > len(s.Listeners) {
		return fmt.Errorf("%d pages are more than the %d listeners", len(s.Pages), len(s.Listeners))
	}
	for i := range s.Pages {
		if err := CheckPage(&s.Pages[i]); err != nil {
			return fmt.Errorf("page %d: %w", i, err)
		}
	}
	services := make(map[int32]string, len(s.Listeners))
	for i := range s.Listeners {
		l := &s.Listeners[i]
		if err := l.check(); err != nil {
			return fmt.Errorf("listener %d: %w", i, err)
		}
		if l.Page < 0 || l.Page >= len(s.Pages) {
			return fmt.Errorf("listener %d: there is no page %d", i, l.Page)
		}
		if !(Range{First, Last}).Contains(l.Port) {
			return fmt.Errorf("port %d is not within %s", l.Port, Range{First, Last})
		}
		if other, taken := services[l.Port]; taken {
			return fmt.Errorf("port %d is given to the Services %q and %q", l.Port, other, l.Service)
		}
		services[l.Port] = l.Service
	}
	return nil
}

func (l *Listener) check() error {
	return errors.Join(
		within("service", l.Service, maxLabel), within("portName", l.PortName, maxLabel),
		within("appProtocol", l.AppProtocol, maxQualified), CheckAnnouncement(l.Maintenance),
	)
}

// CheckPage holds a page to the bounds of its schema. The zero value of a field is
// its default.
func CheckPage(page *criticalv2.PageFallback) error {
	errs := []error{
		within("message", page.Message, maxMessage), within("configMapName", page.ConfigMapName, maxConfigMap), checkRetry(page.RetryAfterSeconds),
	}
	if code := page.StatusCode; code != 0 && (code < minStatusCode || code > maxStatusCode) {
		errs = append(errs, fmt.Errorf("statusCode %d is not within %d to %d", code, minStatusCode, maxStatusCode))
	}
	if probes := page.Probes; probes != nil {
		errs = append(errs, withinEach("probes.paths", probes.Paths, maxPath), withinEach("probes.userAgents", probes.UserAgents, maxUserAgent))
	}
	return errors.Join(errs...)
}

// CheckAnnouncement holds a maintenance, if there is one, to its bounds.
func CheckAnnouncement(announced *criticalv2.Announcement) error {
	if announced == nil {
		return nil
	}
	return errors.Join(within("maintenance.message", announced.Message, criticalv2.MaxMaintenanceMessage), checkRetry(announced.RetryAfterSeconds))
}

func checkRetry(seconds *int32) error {
	if seconds != nil && (*seconds < 0 || *seconds > maxRetryAfter) {
		return fmt.Errorf("retryAfterSeconds %d is not within 0 to %d", *seconds, maxRetryAfter)
	}
	return nil
}

func within(field, text string, characters int) error {
	if utf8.RuneCountInString(text) > characters {
		return fmt.Errorf("%s has more than %d characters", field, characters)
	}
	return nil
}

func withinEach(field string, texts []string, characters int) error {
	if len(texts) > maxProbes {
		return fmt.Errorf("%s has more than %d entries", field, maxProbes)
	}
	for _, text := range texts {
		if err := within(field, text, characters); err != nil {
			return err
		}
	}
	return nil
}
