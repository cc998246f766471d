package checks

import (
	"context"
	"fmt"
	"strings"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/world"
)

// service is the name of the Service that is protected, and of its application.
const service = "shop"

// story is a Service that is Armed.
type story struct {
	*world.World
	app    *world.Application
	policy *criticalv2.CriticalService
}

// protect starts an application, declares its Service critical and waits until it is Armed.
func protect(ctx context.Context, w *world.World) (*story, error) {
	if err := w.MakeNamespace(ctx); err != nil {
		return nil, err
	}
	app, err := w.StartApplication(ctx, service, w.Selector())
	if err != nil {
		return nil, err
	}
	s := &story{World: w, app: app, policy: w.PagePolicy()}
	if err := w.MakePolicy(ctx, s.policy); err != nil {
		return nil, err
	}
	return s, suite.InOrder(
		func() error { return w.AwaitState(ctx, s.policy, service, criticalv2.StateArmed) },
		func() error { return w.AwaitSlice(ctx, service, world.Standby) },
		func() error { return w.BelongToPods(ctx, service) },
	)
}

// armed: the standby is published ahead of any outage, and does not touch the application's traffic.
func armed(ctx context.Context, w *world.World) error {
	s, err := protect(ctx, w)
	if err != nil {
		return err
	}
	watch := w.Watch(ctx, s.app)
	defer watch.Stop()
	return w.AwaitAnswers(ctx, watch, world.ByApplication, "The standby must not answer while the application does. Does the cluster's "+
		"proxy treat endpoints that are serving and terminating as Kubernetes 1.28 does? See docs/consumers.md.")
}

// outage: all Pods of the application go, and the fallback answers at the address of the Service.
func outage(ctx context.Context, w *world.World) error {
	s, err := protect(ctx, w)
	if err != nil {
		return err
	}
	watch := w.Watch(ctx, s.app)
	defer s.tell(watch)
	return s.breakDown(ctx, watch)
}

// recovery: the application comes back, and the fallback is standby again.
func recovery(ctx context.Context, w *world.World) error {
	s, err := protect(ctx, w)
	if err != nil {
		return err
	}
	watch := w.Watch(ctx, s.app)
	defer s.tell(watch)
	return suite.InOrder(
		func() error { return s.breakDown(ctx, watch) },
		func() error { return w.Scale(ctx, s.app, 1) },
		func() error { return w.AwaitState(ctx, s.policy, service, criticalv2.StateArmed) },
		func() error { return w.AwaitSlice(ctx, service, world.Standby) },
		func() error {
			return w.AwaitAnswers(ctx, watch, world.ByApplication, "The fallback was withdrawn, and answers still come from elsewhere. "+
				"Does the cluster's proxy follow EndpointSlices? See docs/consumers.md.")
		},
	)
}

// breakDown makes the outage, and waits for the fallback.
func (s *story) breakDown(ctx context.Context, watch *world.Watch) error {
	return suite.InOrder(
		func() error { return s.Scale(ctx, s.app, 0) },
		func() error { return s.PodsGone(ctx, s.app) },
		func() error { return s.AwaitState(ctx, s.policy, service, criticalv2.StateCovered) },
		func() error { return s.AwaitSlice(ctx, service, world.Promoted) },
		func() error {
			return s.AwaitAnswers(ctx, watch, world.ByFallback, "The fallback is published, and does not answer at the address of the Service. "+
				"Does a NetworkPolicy keep clients from the responder's Pods (docs/responder.md)? "+
				"See its log: kubectl logs --namespace NAMESPACE deployment/critical-service-responder")
		},
		func() error {
			s.Collect(ctx, "in-the-outage")
			return nil
		},
	)
}

// tell ends a watch, and says what it saw.
func (s *story) tell(watch *world.Watch) {
	watch.Stop()
	text := watch.String()
	for line := range strings.Lines(text) {
		s.Journal.Say("Requests: %s", strings.TrimSpace(line))
	}
	if err := s.Evidence.Text("answers.txt", text); err != nil {
		s.Journal.Say("No evidence of the answers was stored: %v", err)
	}
}

// deletion: with the CriticalService goes all that the operator made for it, and the application stays.
func deletion(ctx context.Context, w *world.World) error {
	s, err := protect(ctx, w)
	if err != nil {
		return err
	}
	before, err := w.OperatorsOwn(ctx)
	if err != nil {
		return err
	}
	w.Journal.Say("The operator has made %s. The test deletes the CriticalService.", strings.Join(before, ", "))
	w.Collect(ctx, "before-the-deletion")
	if err := w.Delete(ctx, s.policy); err != nil {
		return err
	}
	err = w.Await(ctx, "nothing left of what the operator made", func(ctx context.Context) (world.Observation, error) {
		left, err := w.OperatorsOwn(ctx)
		return world.Observation{
			Done: len(left) == 0, Text: fmt.Sprintf("%d left: %s", len(left), strings.Join(left, ", ")),
			Suggestion: "The operator removes these when it sees the deletion. Is it running, and may it delete them? " +
				"See what it says: kubectl logs --all-namespaces --selector app.kubernetes.io/name=critical-service-operator",
		}, err
	})
	if err != nil {
		return err
	}
	watch := w.Watch(ctx, s.app)
	defer watch.Stop()
	return w.AwaitAnswers(ctx, watch, world.ByApplication, "The application must not notice that it is protected no longer.")
}
