// Package machinery declares the engine that reconciles revisions.
package machinery

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pkg.package-operator.run/boxcutter/machinery/types"
	"pkg.package-operator.run/boxcutter/validation"
)

type Object = client.Object

type Action string

const ActionCollision Action = "Collision"

type ObjectResult interface {
	Action() Action
	Object() Object
	ProbeResults() types.ProbeResultContainer
	String() string
}

type PhaseResult interface {
	GetObjects() []ObjectResult
	GetValidationError() *validation.PhaseValidationError
	IsComplete() bool
}

type RevisionResult interface {
	GetPhases() []PhaseResult
	GetValidationError() *validation.RevisionValidationError
	InTransition() bool
	IsComplete() bool
	String() string
}

type RevisionTeardownResult interface{ IsComplete() bool }

// Comparator, ObjectEngine and PhaseEngine are what a RevisionEngine is made of.
type (
	Comparator     struct{}
	ObjectEngine   struct{}
	PhaseEngine    struct{}
	RevisionEngine struct{}
)

func NewComparator(discovery.DiscoveryInterface, *runtime.Scheme, string) *Comparator {
	panic(types.LeftOut)
}

func NewObjectEngine(*runtime.Scheme, client.Reader, client.Writer, *Comparator, string, string, string, client.Reader) *ObjectEngine {
	panic(types.LeftOut)
}

func NewPhaseEngine(*ObjectEngine, *validation.PhaseValidator) *PhaseEngine { panic(types.LeftOut) }

func NewRevisionEngine(*PhaseEngine, *validation.RevisionValidator, client.Writer) *RevisionEngine {
	panic(types.LeftOut)
}

func (*RevisionEngine) Reconcile(context.Context, types.Revision, ...types.RevisionReconcileOption) (RevisionResult, error) {
	panic(types.LeftOut)
}

func (*RevisionEngine) Teardown(context.Context, types.Revision, ...types.RevisionTeardownOption) (RevisionTeardownResult, error) {
	panic(types.LeftOut)
}
