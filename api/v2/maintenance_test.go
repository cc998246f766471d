package v2_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestAMaintenanceIsReadFromItsKeys(t *testing.T) {
	g := NewWithT(t)
	data := map[string]string{
		"service": "storefront", "message": "We move house.", "until": "2030-01-31T18:30:00Z",
		"workload": "deployments.apps/storefront", "replicas": "3", "announce": "false",
	}
	m, err := criticalv2.ParseMaintenance(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Service).To(Equal("storefront"))
	g.Expect(m.Message).To(Equal("We move house."))
	g.Expect(m.Until.Time).To(BeTemporally("==", time.Date(2030, 1, 31, 18, 30, 0, 0, time.UTC)))
	g.Expect(m.Silent).To(BeTrue())
	g.Expect(m.Workload.Resource.Group).To(Equal("apps"))
	g.Expect(m.Workload.Resource.Resource).To(Equal("deployments"))
	g.Expect(m.Workload.Name).To(Equal("storefront"))
	g.Expect(m.Workload.Replicas).To(Equal(int32(3)))
	g.Expect(m.Data()).To(Equal(data), "what is read is written again")

	least, err := criticalv2.ParseMaintenance(map[string]string{"service": "storefront"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(least.Data()).To(Equal(map[string]string{"service": "storefront"}))
}

func TestMaintenanceKeysThatAreNotValid(t *testing.T) {
	for sentence, c := range map[string]struct {
		key, value string
	}{
		"a Service has to be named":                  {"service", ""},
		"a Service of another namespace is none":     {"service", "other/storefront"},
		"a message is one line":                      {"message", "first\nsecond"},
		"a message has a length":                     {"message", strings.Repeat("ü", 1025)},
		"an end has a zone":                          {"until", "2030-01-31T18:30:00"},
		"an end is no duration":                      {"until", "2h"},
		"announce is true or false":                  {"announce", "no"},
		"a workload has a resource":                  {"workload", "storefront"},
		"a workload has a name":                      {"workload", "deployments.apps/"},
		"a workload's name leads nowhere else":       {"workload", "deployments.apps/../x"},
		"replicas are a number":                      {"replicas", "many"},
		"replicas are not negative":                  {"replicas", "-1"},
		"a workload needs its number of replicas":    {"replicas", ""},
		"replicas are not more than a number holds":  {"replicas", "4294967296"},
		"replicas are no more than any workload has": {"replicas", "10001"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			data := map[string]string{"service": "storefront", "workload": "deployments.apps/storefront", "replicas": "3"}
			data[c.key] = c.value
			_, err := criticalv2.ParseMaintenance(data)
			g.Expect(err).To(MatchError(ContainSubstring("key %q", c.key)))
		})
	}
}

func TestWhatIsOwedIsReadWhateverElseIsNotValid(t *testing.T) {
	for sentence, c := range map[string]struct {
		key, value string
		service    string
		hasEnd     bool
	}{
		"all is valid":                     {"announce", "false", "storefront", true},
		"a message of two lines":           {"message", "first\nsecond", "storefront", true},
		"announce is neither":              {"announce", "no", "storefront", true},
		"an end that is no time is none":   {"until", "at six", "storefront", false},
		"no Service is that of the plugin": {"service", "", "shop", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			data := map[string]string{"service": "storefront", "until": "2030-01-31T18:30:00Z", "workload": "deployments.apps/storefront", "replicas": "3"}
			data[c.key] = c.value
			debt, err := criticalv2.ParseMaintenanceDebt("shop-maintenance", data)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(debt.Workload.String()).To(Equal("deployments.apps/storefront"))
			g.Expect(debt.Workload.Replicas).To(Equal(int32(3)))
			g.Expect(debt.Service).To(Equal(c.service))
			g.Expect(debt.Until != nil).To(Equal(c.hasEnd))
		})
	}
	g := NewWithT(t)
	none, err := criticalv2.ParseMaintenanceDebt("any", map[string]string{"service": "storefront", "message": "a\nb"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none.Workload).To(BeNil())
	_, err = criticalv2.ParseMaintenanceDebt("any", map[string]string{"service": "storefront", "workload": "deployments.apps/storefront", "replicas": "many"})
	g.Expect(err).To(MatchError(ContainSubstring(`key "replicas"`)))
}

func TestWhenAMaintenanceIsAnnounced(t *testing.T) {
	until := "2030-01-31T18:30:00Z"
	end := time.Date(2030, 1, 31, 18, 30, 0, 0, time.UTC)
	for sentence, c := range map[string]struct {
		data                       map[string]string
		now                        time.Time
		announces, isOver, expired bool
	}{
		"without an end it lasts": {map[string]string{}, end.AddDate(10, 0, 0), true, false, false},
		"before its end":          {map[string]string{"until": until}, end.Add(-time.Nanosecond), true, false, false},
		"at its end it is over, and announced until the application is back": {
			map[string]string{"until": until}, end, true, true, false,
		},
		"five minutes later it is no longer waited for": {
			map[string]string{"until": until}, end.Add(criticalv2.MaintenanceGrace), false, true, true,
		},
		"one that is silent is never announced": {
			map[string]string{"until": until, "announce": "false"}, end.Add(-time.Hour), false, false, false,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			c.data["service"] = "storefront"
			m, err := criticalv2.ParseMaintenance(c.data)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(m.Announces(c.now)).To(Equal(c.announces))
			g.Expect(m.IsOver(c.now)).To(Equal(c.isOver))
			g.Expect(m.IsExpired(c.now)).To(Equal(c.expired))
		})
	}
}
