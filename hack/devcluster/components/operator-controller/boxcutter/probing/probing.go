// Package probing declares the checks that decide whether an object is ready.
package probing

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pkg.package-operator.run/boxcutter/machinery/types"
)

type Prober interface {
	Probe(client.Object) types.ProbeResult
}

type And []Prober

func (And) Probe(client.Object) types.ProbeResult { panic(types.LeftOut) }

// These three are made by conversion from types of operator-controller's API, so
// that the fields are those of the API.
type (
	ConditionProbe   struct{ Type, Status string }
	FieldsEqualProbe struct{ FieldA, FieldB string }
	FieldValueProbe  struct{ FieldPath, Value string }
)

func (*ConditionProbe) Probe(client.Object) types.ProbeResult { panic(types.LeftOut) }

func (*FieldsEqualProbe) Probe(client.Object) types.ProbeResult { panic(types.LeftOut) }

func (*FieldValueProbe) Probe(client.Object) types.ProbeResult { panic(types.LeftOut) }

type GroupKindSelector struct {
	schema.GroupKind
	Prober Prober
}

func (*GroupKindSelector) Probe(client.Object) types.ProbeResult { panic(types.LeftOut) }

type LabelSelector struct {
	labels.Selector
	Prober Prober
}

func (*LabelSelector) Probe(client.Object) types.ProbeResult { panic(types.LeftOut) }

type ObservedGenerationProbe struct{ Prober Prober }

func (*ObservedGenerationProbe) Probe(client.Object) types.ProbeResult { panic(types.LeftOut) }
