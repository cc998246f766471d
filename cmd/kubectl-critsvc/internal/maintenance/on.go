package maintenance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
)

const (
	// pollInterval is the time between two checks of what is waited for.
	pollInterval = 500 * time.Millisecond
	// maxRetryAfter is the greatest value of --retry-after.
	maxRetryAfter = 24 * time.Hour
)

// announcement is one run of `maintenance on`.
type announcement struct {
	to         *access.Access
	message    string
	until      string
	retryAfter time.Duration
	scaleDown  bool
	yes        bool
	timeout    time.Duration
	// given reports whether a flag was given.
	given func(flag string) bool

	client  client.Client
	name    types.NamespacedName
	service *corev1.Service
	// existing is what was announced before; nil if this run makes something new. m is
	// what is announced now.
	existing, m *criticalv2.Maintenance
	workload    *outage.Workload
	// taken means that the application was scaled to zero before.
	taken bool
}

// scaled reports whether this run scaled the application to zero, or tried to.
func (a *announcement) scaled() bool { return a.workload != nil && a.workload.WasScaled() }

func onCommand(to *access.Access) *cobra.Command {
	a := &announcement{to: to}
	command := &cobra.Command{
		Use:   "on svc/NAME",
		Short: "Announce a maintenance, and take the application away if wanted",
		Long: `Announce a maintenance of a Service. The page with the message and the end is prepared first. Then, if
wanted, the application is scaled to zero, and the page answers. At the end (--until) the operator gives
the application its replicas back, and shows the page until it answers, even if it was restarted meanwhile.
Without an end it lasts until ` + "`maintenance off`" + `.

A second time it changes the message or the end of a maintenance that is announced.`,
		Example: `  kubectl critsvc maintenance on svc/storefront --message "We move house." --until 18:00
  kubectl critsvc maintenance on svc/storefront --until 2h --scale-down --yes
  kubectl critsvc maintenance on svc/storefront --until 20:00`,
		Args:              access.OneService,
		ValidArgsFunction: to.CompleteService,
		RunE: func(command *cobra.Command, arguments []string) (err error) {
			a.given = command.Flags().Changed
			if a.name, err = a.to.Service(arguments[0]); err != nil {
				return err
			}
			if a.client, err = a.to.Client(); err != nil {
				return err
			}
			return a.perform(command.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&a.message, "message", "", "A sentence for people, shown on the built-in page; without it a team's own page stays")
	flags.StringVar(&a.until, "until", "", `When it ends: a date (RFC 3339), a time of the day ("18:00") or a duration ("2h"); "" for no end`)
	flags.DurationVar(&a.retryAfter, "retry-after", 0, "What clients are asked to wait, 1s to 24h, instead of until the end; 0 for the end")
	flags.BoolVar(&a.scaleDown, "scale-down", false, "Scale the application to zero; without this flag you are asked, on a terminal")
	flags.BoolVarP(&a.yes, "yes", "y", false, "Do not ask")
	flags.DurationVar(&a.timeout, "timeout", 2*time.Minute, "How long to wait until the page is prepared")
	return command
}

func (a *announcement) perform(ctx context.Context) error {
	if err := a.read(ctx); err != nil {
		return err
	}
	if err := a.plan(time.Now()); err != nil {
		return err
	}
	if err := a.find(ctx); err != nil {
		return err
	}
	if err := a.announce(ctx); err != nil {
		return err
	}
	if err := a.carryOut(ctx); err != nil {
		return a.undo(ctx, err)
	}
	return a.report()
}

// read reads what there is, and refuses where nothing would answer. Where only an
// administrator may read what protects the Service, the page shows that something does.
func (a *announcement) read(ctx context.Context) error {
	var err error
	if a.service, err = access.GetService(ctx, a.client, a.name); err != nil {
		return err
	}
	status, err := access.StatusOf(ctx, a.client, a.name)
	switch {
	case apierrors.IsForbidden(err):
		fmt.Fprintf(a.to.ErrOut, "Note: whether Service %s is protected is not known, because you may not read all that may protect it. Waiting for its page ...\n", a.name)
	case err != nil:
		return err
	case status == nil:
		return fmt.Errorf("no CriticalService or ServiceFallback protects Service %s, so that no page would answer: `kubectl critsvc explain svc/%s -n %s` says why",
			a.name, a.name.Name, a.name.Namespace)
	case status.State == criticalv2.StateIgnored && status.Reason != criticalv2.ReasonOverridden:
		return fmt.Errorf("the Service %s is not protected (%s), so that no page would answer: %s", a.name, status.Reason, status.Message)
	}
	a.existing, err = outage.Current(ctx, a.client, a.name)
	if err == nil && a.existing != nil && a.existing.IsDrill() {
		return fmt.Errorf("a live drill of Service %s is under way (Maintenance %q): wait until it ends, or end it by `kubectl critsvc maintenance off svc/%s -n %s`",
			a.name, a.existing.Name, a.name.Name, a.name.Namespace)
	}
	return err
}

// plan makes the maintenance: what is announced already, changed by the flags.
func (a *announcement) plan(now time.Time) error {
	a.m = outage.New(a.name)
	if a.existing != nil {
		a.m = a.existing.DeepCopy()
	}
	if a.given("message") {
		a.m.Spec.Message = strings.TrimSpace(a.message)
	}
	if a.given("until") {
		a.m.Spec.Until = nil
		if a.until != "" {
			until, err := parseUntil(a.until, now)
			if err != nil {
				return err
			}
			a.m.Spec.Until = outage.Ending(until)
		}
	}
	if a.given("retry-after") {
		if a.retryAfter < 0 || a.retryAfter > maxRetryAfter || a.retryAfter%time.Second != 0 {
			return fmt.Errorf("--retry-after: %s is not a time in whole seconds of 1s to 24h, nor 0 for none", a.retryAfter)
		}
		a.m.Spec.RetryAfterSeconds = nil
		if a.retryAfter > 0 {
			a.m.Spec.RetryAfterSeconds = new(int32(a.retryAfter / time.Second))
		}
	}
	if a.m.IsOver(now) {
		return fmt.Errorf("the maintenance that is announced was over at %s: give a new end by --until", a.m.Spec.Until.Format(time.RFC3339))
	}
	return nil
}

// announce records the maintenance. What is to be given back is not in it yet, unless it
// was there before.
func (a *announcement) announce(ctx context.Context) error {
	if a.existing == nil {
		return outage.Create(ctx, a.client, a.m)
	}
	if err := a.client.Patch(ctx, a.m, client.MergeFrom(a.existing), outage.FieldOwner); err != nil {
		return fmt.Errorf("change Maintenance %q: %w", a.m.Name, err)
	}
	return nil
}

// carryOut waits until the page is prepared, and takes the application away if that is
// wanted.
func (a *announcement) carryOut(ctx context.Context) error {
	if err := outage.Answered(ctx, a.client, a.m); err != nil {
		return err
	}
	if err := a.await(ctx); err != nil {
		return err
	}
	if a.workload == nil {
		return nil
	}
	if wanted, err := a.wanted(); err != nil || !wanted {
		return err
	}
	return outage.TakeAway(ctx, a.client, a.m, a.workload, a.alone)
}

// await waits until the page is prepared.
func (a *announcement) await(ctx context.Context) error {
	last := "in a state that you may not read"
	err := wait.PollUntilContextTimeout(ctx, pollInterval, a.timeout, true, func(ctx context.Context) (bool, error) {
		is, err := prepared(ctx, a.client, a.service, a.m.Announcement())
		if is || err != nil {
			return is, err
		}
		status, err := access.StatusOf(ctx, a.client, a.name)
		if status == nil || err != nil {
			if apierrors.IsForbidden(err) {
				err = nil
			}
			return false, err
		}
		last = fmt.Sprintf("%s (%s): %s", status.State, status.Reason, status.Message)
		return false, nil
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		return fmt.Errorf("the page is not prepared within %s (--timeout); the Service is %s", a.timeout, last)
	}
	return err
}

// undoTimeout is how long it may take to undo what was done.
const undoTimeout = 30 * time.Second

// undo takes back what this run announced. An application that may have been scaled down
// gets its replicas back before: a request that failed without an answer may have been
// carried out.
func (a *announcement) undo(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	outcome := "nothing was scaled"
	if a.scaled() {
		if err := outage.Restore(ctx, a.client, a.m); err != nil {
			return fmt.Errorf("%w; %s may have no replicas now, and could not be given back: %w; Maintenance %q, which says what it is owed, is kept: "+
				"`kubectl critsvc maintenance off svc/%s -n %s` gives it back", why, a.workload, err, a.m.Name, a.name.Name, a.name.Namespace)
		}
		outcome = "the application has its replicas"
	}
	if a.existing == nil {
		if err := outage.Forget(ctx, a.client, a.m); err != nil {
			return errors.Join(why, err)
		}
		return fmt.Errorf("%w; %s, and the announcement is taken back", why, outcome)
	}
	before := a.m.DeepCopy()
	a.existing.Spec.DeepCopyInto(&before.Spec)
	before.Spec.Restore = a.m.Spec.Restore // It cannot be taken back.
	if err := a.client.Patch(ctx, before, client.MergeFrom(a.m), outage.FieldOwner); err != nil {
		return errors.Join(why, fmt.Errorf("take back what was changed in Maintenance %q: %w", a.m.Name, err))
	}
	if a.m.Spec.Restore != nil && a.existing.Spec.Restore == nil {
		outcome += fmt.Sprintf("; Maintenance %q goes on saying what %s gets back, which does no harm as long as it has replicas", a.m.Name, a.workload)
	}
	return fmt.Errorf("%w; %s, and what is announced is as it was", why, outcome)
}
