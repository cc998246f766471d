package monitoring

import (
	"golang.org/x/time/rate"
	ctrl "sigs.k8s.io/controller-runtime"
)

// SetupUnbounded is Setup without a bound of the rounds, which tests would wait for.
func SetupUnbounded(mgr ctrl.Manager, options Options) error { return setup(mgr, options, rate.Inf) }
