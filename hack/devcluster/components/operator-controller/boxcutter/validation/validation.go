// Package validation declares the checks that run before a revision is reconciled.
package validation

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pkg.package-operator.run/boxcutter/machinery/types"
)

type (
	PhaseValidator          struct{}
	PhaseValidationError    struct{}
	RevisionValidator       struct{}
	RevisionValidationError struct{}
)

func (*PhaseValidationError) Error() string { panic(types.LeftOut) }

func (*RevisionValidationError) Error() string { panic(types.LeftOut) }

func NewClusterPhaseValidator(meta.RESTMapper, client.Writer) *PhaseValidator { panic(types.LeftOut) }

func NewRevisionValidator() *RevisionValidator { panic(types.LeftOut) }
