// Package boxcutter stands in for the module of that name, which the public
// module proxy does not serve. operator-controller v1.11.0 imports it for two things:
//
//   - the feature gate BoxcutterRuntime, which is off unless someone turns it on. This
//     build leaves it out: what only the gate needs is declared, and panics when it is called.
//   - the cache that shows the Helm applier changes of what it has installed. That
//     runs always, so package managedcache is a working one of our own.
//
// It is written from how operator-controller uses it; nothing is taken from the
// original. Where that is served, delete the replace in ../go.mod and this folder.
package boxcutter

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pkg.package-operator.run/boxcutter/machinery/types"
	"pkg.package-operator.run/boxcutter/ownerhandling"
	"pkg.package-operator.run/boxcutter/probing"
)

// ProgressProbeType names the probe that decides whether a phase is complete.
const ProgressProbeType = types.ProgressProbeType

// What operator-controller takes from here rather than from the package types.
type (
	Phase                   = types.Phase
	RevisionBuilder         = types.Revision
	RevisionReconcileOption = types.RevisionReconcileOption
	WithCollisionProtection = types.WithCollisionProtection
)

func NewPhase(string, []client.Object) Phase { panic(types.LeftOut) }

func NewRevisionWithOwner(string, int64, []Phase, client.Object, ownerhandling.Strategy) RevisionBuilder {
	panic(types.LeftOut)
}

func WithSiblingOwners([]client.Object) RevisionReconcileOption { panic(types.LeftOut) }

func WithProbe(string, probing.Prober) RevisionReconcileOption { panic(types.LeftOut) }

func WithAggregatePhaseReconcileErrors() RevisionReconcileOption { panic(types.LeftOut) }

func WithObjectReconcileOptions(client.Object, ...types.ObjectReconcileOption) RevisionReconcileOption {
	panic(types.LeftOut)
}
