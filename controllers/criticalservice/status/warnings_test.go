package status

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// details are those of Services, each written as "name State Reason".
func details(services ...string) []criticalv2.ServiceStatus {
	var made []criticalv2.ServiceStatus
	for _, service := range services {
		words := strings.Fields(service)
		made = append(made, criticalv2.ServiceStatus{
			Namespace: "shop", Name: words[0], State: criticalv2.ServiceState(words[1]), Reason: words[2], Message: "about " + words[0],
		})
	}
	return made
}

func TestWhatAChangeOfTheStatusIsWorth(t *testing.T) {
	tests := map[string]struct {
		before, after []criticalv2.ServiceStatus
		// want are the warnings, each as "Reason of name"; without a name they are about
		// the CriticalService.
		want []string
	}{
		"nothing is wrong":         {nil, details("web Armed StandbyReady"), nil},
		"a problem is new":         {details("web Arming ResponderStarting"), details("web Arming CreateDenied"), []string{"CreateDenied of web"}},
		"a problem lasts":          {details("web Arming CreateDenied"), details("web Arming CreateDenied"), nil},
		"another problem":          {details("web Arming CreateDenied"), details("web Arming NameTaken"), []string{"NameTaken of web"}},
		"an outage begins with it": {details("web Arming CreateDenied"), details("web Exposed CreateDenied"), []string{"CreateDenied of web"}},
		"the outage lasts":         {details("web Exposed CreateDenied"), details("web Exposed CreateDenied"), nil},
		"two Services have it":     {nil, details("cart Arming NameTaken", "web Arming NameTaken"), []string{"NameTaken of cart", "NameTaken of web"}},
		"an outage without one":    {details("web Armed StandbyReady"), details("web Exposed FallbackStarting"), nil},
		"the template is missing, which is reported once": {
			nil, details("cart Arming TemplateNotFound", "web Exposed TemplateNotFound"),
			[]string{"TemplateNotFound", "TemplateNotFound of web"},
		},
		"it was missing for another Service": {
			details("cart Arming TemplateNotFound"), details("cart Arming TemplateNotFound", "web Arming TemplateNotFound"), nil,
		},
		"it was missing, and an outage begins": {
			details("web Arming TemplateNotFound"), details("web Exposed TemplateNotFound"), []string{"TemplateNotFound of web"},
		},
		"it is missing as the first outage begins": {
			details("web Armed StandbyReady"), details("web Exposed TemplateNotFound"), []string{"TemplateNotFound"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var got []string
			for _, w := range warnings(test.before, test.after) {
				text := w.reason
				if w.service != nil {
					text += " of " + w.service.Name
					g.Expect(w.message).To(Equal("about " + w.service.Name))
				}
				got = append(got, text)
			}
			g.Expect(got).To(Equal(test.want))
		})
	}
}
