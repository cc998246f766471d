// Package types declares what revisions are described with.
package types

import "sigs.k8s.io/controller-runtime/pkg/client"

// LeftOut is what each function panics with that only the feature gate needs.
const LeftOut = "this build leaves the feature gate BoxcutterRuntime out, because the module proxy does not serve " +
	"pkg.package-operator.run/boxcutter: disable the gate, or build with the real module " +
	"(delete the replace in hack/devcluster/components/operator-controller/go.mod)"

// ProgressProbeType names the probe that decides whether a phase is complete.
const ProgressProbeType = "Progress"

type Phase interface{ GetObjects() []client.Object }

type Revision interface{ GetPhases() []Phase }

type (
	RevisionReconcileOption interface{ ForRevisionReconcile() }
	RevisionTeardownOption  interface{ ForRevisionTeardown() }
	ObjectReconcileOption   interface{ ForObjectReconcile() }
)

// WithCollisionProtection is an option that is made by a conversion.
type WithCollisionProtection string

func (WithCollisionProtection) ForObjectReconcile() { panic(LeftOut) }

type ProbeStatus string

const ProbeStatusTrue ProbeStatus = "True"

type ProbeResult struct {
	Status   ProbeStatus
	Messages []string
}

type ProbeResultContainer map[string]ProbeResult
