package responder_test

import (
	"testing"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Namespaces that would begin with the same ports begin apart, however close they come.
func TestNamespacesListenOnPortsOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	all := []*world{w, w.beside(), w.beside()}
	w.start(standard)
	for _, one := range all {
		one.critical("web", criticalv2.PageFallback{})
	}
	var ranges []string
	for _, one := range all {
		ranges = append(ranges, one.listens())
	}
	w.Expect(ranges).To(ConsistOf("20000-20063", "20064-20127", "20128-20191"))
}
