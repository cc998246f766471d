package operator_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/settings"
)

func TestTenantsTurnsServiceFallbacksOnAndOff(t *testing.T) {
	for sentence, tenants := range map[string]bool{"on, as by default": true, "off": false} {
		t.Run(sentence, func(t *testing.T) {
			options := operator.OptionsOf(&settings.Settings{Tenants: tenants})
			NewWithT(t).Expect(options.CriticalService.NoTenants).To(Equal(!tenants))
		})
	}
}
