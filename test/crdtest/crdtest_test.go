package crdtest_test

import (
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	. "github.com/onsi/gomega"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/crdtest"
)

func definition(t *testing.T, plural, version string, never ...string) crdtest.Definition {
	t.Helper()
	data, err := os.ReadFile("../../config/crd/bases/mycrd.com_" + plural + ".yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return crdtest.Definition{YAML: data, Version: version, Never: never}
}

const (
	selecting = `{apiVersion: mycrd.com/v2, kind: CriticalService, metadata: {name: a}, spec: {serviceSelector: {matchLabels: {a: b}}`
	naming    = `{apiVersion: mycrd.com/v2, kind: ServiceFallback, metadata: {name: a, namespace: a}, spec: {services: [a]`
	once      = `{apiVersion: mycrd.com/v2, kind: Maintenance, metadata: {name: a, namespace: a}, spec: {services: [a]}}`
	recurring = `{apiVersion: mycrd.com/v2, kind: Maintenance, metadata: {name: a, namespace: a}, spec: {services: [a], recurring: {schedule: "0 2 * * SUN", duration: 2h}}}`
	matching  = `{apiVersion: mycrd.com/v2, kind: CriticalService, metadata: {name: a}, spec: {namespaceSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, serviceSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}}`
	labelled  = `{apiVersion: mycrd.com/v2, kind: ServiceFallback, metadata: {name: a, namespace: a}, spec: {fallback: {page: {}}, serviceSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}}`
	restoring = `{apiVersion: mycrd.com/v2, kind: Maintenance, metadata: {name: a, namespace: a}, spec: {services: [a], restore: {deployment: a, replicas: 1}}}`
	page      = `, fallback: {page: {}}}}`
	template  = `, fallback: {podTemplate: {name: a}}}}`
	backup    = `, fallback: {service: {name: a}}}}`
)

func TestWhatIsStoredCanBeRead(t *testing.T) {
	t.Run("CriticalService of v1", func(t *testing.T) {
		crdtest.CheckDecodes[criticalv1.CriticalService](t, definition(t, "criticalservices", "v1"),
			`{apiVersion: mycrd.com/v1, kind: CriticalService, metadata: {name: a}, spec: {matchLabels: [{key: a, value: b}]}}`)
	})
	t.Run("CriticalService", func(t *testing.T) {
		crdtest.CheckDecodes[criticalv2.CriticalService](t, definition(t, "criticalservices", "v2"), selecting+page, selecting+template, selecting+backup, matching)
	})
	t.Run("ServiceFallback", func(t *testing.T) {
		crdtest.CheckDecodes[criticalv2.ServiceFallback](t, definition(t, "servicefallbacks", "v2", ".spec.fallback.podTemplate.namespace"), naming+page, naming+template, naming+backup, labelled)
	})
	t.Run("Maintenance", func(t *testing.T) {
		crdtest.CheckDecodes[criticalv2.Maintenance](t, definition(t, "maintenances", "v2"), once, recurring, restoring)
	})
}

func TestTheSameSeedDeclaresTheSame(t *testing.T) {
	g := NewWithT(t)
	generator := crdtest.NewGenerator(t, definition(t, "criticalservices", "v2"), selecting+page, selecting+backup)
	first, second, other := rand.New(rand.NewPCG(1, 0)), rand.New(rand.NewPCG(1, 0)), rand.New(rand.NewPCG(2, 0))
	differ := 0
	for range 100 {
		object := generator.Next(first)
		g.Expect(generator.Next(second)).To(Equal(object))
		if !reflect.DeepEqual(generator.Next(other), object) {
			differ++
		}
	}
	g.Expect(differ).To(BeNumerically(">", 90), "another seed declares other objects")
}
