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

// fieldOwner is the name under which the plugin owns fields.
const fieldOwner = client.FieldOwner("kubectl-critsvc")

// pollInterval is the time between two checks of what is waited for.
const pollInterval = 500 * time.Millisecond

// announcement is one run of `maintenance on`.
type announcement struct {
	to      *access.Access
	message string
	until   string
	// scaleDown is the value of --scale-down; scaleGiven reports whether it was given.
	scaleDown, scaleGiven bool
	messageGiven          bool
	untilGiven            bool
	yes                   bool
	timeout               time.Duration
	operator              string

	client   client.Client
	name     types.NamespacedName
	service  *corev1.Service
	existing *corev1.ConfigMap
	workload *outage.Workload
	m        *criticalv2.Maintenance
	// taken means that the application was scaled to zero before; scaled, that this run
	// does so, or tried to.
	taken, scaled bool
}

func onCommand(to *access.Access) *cobra.Command {
	a := &announcement{to: to}
	command := &cobra.Command{
		Use:   "on svc/NAME",
		Short: "Announce a maintenance, and take the application away if wanted",
		Long: `Announce a maintenance of a Service. The page with the message and the end is prepared first. Then, if
wanted, the application is scaled to zero, and the page answers. At the end (--until) the operator gives
the application its replicas back, shows the page until it answers, and removes the announcement, even if
it was restarted meanwhile. Without an end it lasts until ` + "`maintenance off`" + `.

A second time it changes the message or the end of a maintenance that is announced.`,
		Example: `  kubectl critsvc maintenance on svc/storefront --message "We move house." --until 18:00
  kubectl critsvc maintenance on svc/storefront --until 2h --scale-down --yes
  kubectl critsvc maintenance on svc/storefront --until 20:00`,
		Args:              access.OneService,
		ValidArgsFunction: to.CompleteService,
		RunE: func(command *cobra.Command, arguments []string) error {
			flags := command.Flags()
			a.scaleGiven, a.messageGiven, a.untilGiven = flags.Changed("scale-down"), flags.Changed("message"), flags.Changed("until")
			return a.run(command.Context(), arguments[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&a.message, "message", "", "A sentence for people, shown on the built-in page; without it a team's own page stays")
	flags.StringVar(&a.until, "until", "", `When it ends: a date (RFC 3339), a time of the day ("18:00") or a duration ("2h"); "" for no end`)
	flags.BoolVar(&a.scaleDown, "scale-down", false, "Scale the application to zero; without this flag you are asked, on a terminal")
	flags.BoolVarP(&a.yes, "yes", "y", false, "Do not ask")
	flags.DurationVar(&a.timeout, "timeout", 2*time.Minute, "How long to wait until the page is prepared")
	flags.StringVar(&a.operator, "operator", "", "The operator's ServiceAccount as NAMESPACE/NAME, where it is not found by itself")
	return command
}

func (a *announcement) run(ctx context.Context, argument string) error {
	var err error
	if a.name, err = a.to.Service(argument); err != nil {
		return err
	}
	if a.client, err = a.to.Client(); err != nil {
		return err
	}
	return a.perform(ctx)
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
	config, made, err := a.announce(ctx)
	if err != nil {
		return err
	}
	err = a.await(ctx)
	if err == nil {
		err = a.takeAway(ctx, config)
	}
	if err != nil {
		return a.undo(ctx, config, made, err)
	}
	return a.report()
}

// undoTimeout is how long it may take to undo what was done.
const undoTimeout = 30 * time.Second

// undo takes back what this run announced: all of it, or, where a maintenance was
// announced before, that the application is owed something. An application that may
// have been scaled down gets its replicas back before what it is owed is deleted: a
// request that failed without an answer may have been carried out.
func (a *announcement) undo(ctx context.Context, config *corev1.ConfigMap, made bool, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	outcome := "nothing was scaled"
	if a.scaled {
		if err := outage.Restore(ctx, a.client, config); err != nil {
			return fmt.Errorf("%w; %s may have no replicas now, and could not be given back: %w; ConfigMap %q, which says what it is owed, is kept: "+
				"`kubectl critsvc maintenance off svc/%s -n %s` gives it back", why, a.workload, err, config.Name, a.name.Name, a.name.Namespace)
		}
		outcome = "the application has its replicas"
	}
	var undone error
	switch {
	case made:
		undone = outage.Forget(ctx, a.client, config)
	case a.workload != nil:
		undone = a.oweNothing(ctx, config)
	}
	if undone != nil {
		return errors.Join(why, undone)
	}
	if made {
		return fmt.Errorf("%w; %s, and the announcement is taken back", why, outcome)
	}
	return fmt.Errorf("%w; %s", why, outcome)
}

// read reads what there is, and refuses where nothing would answer.
func (a *announcement) read(ctx context.Context) error {
	var err error
	if a.service, err = access.GetService(ctx, a.client, a.name); err != nil {
		return err
	}
	status, err := access.StatusOf(ctx, a.client, a.name)
	switch {
	case err != nil:
		return err
	case status == nil:
		return fmt.Errorf("no CriticalService or ServiceFallback protects Service %s, so that no page would answer: `kubectl critsvc explain svc/%s -n %s` says why",
			a.name, a.name.Name, a.name.Namespace)
	case status.State == criticalv2.StateIgnored:
		return fmt.Errorf("the Service %s is not protected (%s), so that no page would answer: %s", a.name, status.Reason, status.Message)
	}
	config := &corev1.ConfigMap{}
	err = a.client.Get(ctx, types.NamespacedName{Namespace: a.name.Namespace, Name: criticalv2.MaintenanceName(a.name.Name)}, config)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read what is announced: %w", err)
	case config.Labels[criticalv2.LabelResponder] != criticalv2.ResponderMaintenance:
		return fmt.Errorf("ConfigMap %q is not about a maintenance, and the announcement needs its name: rename it, or announce the maintenance by a file (docs/maintenance.md)", config.Name)
	}
	a.existing = config
	return nil
}

// plan makes the maintenance: what is announced already, changed by the flags.
func (a *announcement) plan(now time.Time) error {
	a.m = &criticalv2.Maintenance{Service: a.name.Name}
	if a.existing != nil {
		known, err := criticalv2.ParseMaintenance(a.existing.Data)
		if err != nil {
			return fmt.Errorf("ConfigMap %q is not valid, `kubectl critsvc maintenance off svc/%s -n %s` ends it: %w", a.existing.Name, a.name.Name, a.name.Namespace, err)
		}
		known.Silent = false
		a.m = known
	}
	if a.messageGiven {
		a.m.Message = strings.TrimSpace(a.message)
	}
	if a.untilGiven {
		a.m.Until = nil
		if a.until != "" {
			until, err := parseUntil(a.until, now)
			if err != nil {
				return err
			}
			a.m.Until = outage.Ending(until)
		}
	}
	if _, err := criticalv2.ParseMaintenance(a.m.Data()); err != nil {
		return fmt.Errorf("--message: %w", err)
	}
	if a.m.IsOver(now) {
		return fmt.Errorf("the maintenance that is announced was over at %s: give a new end by --until", a.m.Until.Format(time.RFC3339))
	}
	return nil
}

// find finds what could be scaled down, if it is asked for, or could be.
func (a *announcement) find(ctx context.Context) error {
	if a.scaleDown && !a.yes && !isInteractive(a.to) {
		return errors.New("--scale-down needs confirmation and stdin is not a terminal; add --yes")
	}
	if err := a.checkTaken(ctx); err != nil {
		return err
	}
	if a.taken || !a.scaleDown && !a.offers() {
		return nil
	}
	workload, err := outage.Find(ctx, a.client, a.service)
	if err == nil && workload.Replicas > 0 {
		err = workload.DryRun(ctx, a.client)
	}
	switch {
	case err != nil && a.scaleDown:
		return err
	case err != nil:
		fmt.Fprintf(a.to.ErrOut, "The application cannot be scaled down from here: %v.\n", err)
	case workload.Replicas > 0:
		a.workload, a.m.Workload = workload, workload.Owed()
	}
	return nil
}

// offers reports whether the user is asked, because no flag decides.
func (a *announcement) offers() bool { return !a.scaleGiven && !a.yes && isInteractive(a.to) }

// checkTaken finds out whether the application was scaled to zero before. What is owed
// is recorded before anything is scaled, so that the record alone does not prove it.
func (a *announcement) checkTaken(ctx context.Context) error {
	if a.m.Workload == nil {
		return nil
	}
	away, err := outage.IsAway(ctx, a.client, a.name.Namespace, a.m.Workload)
	switch {
	case err != nil && a.scaleDown:
		return err
	case err != nil:
		fmt.Fprintf(a.to.ErrOut, "warning: it is not known whether %s was scaled down: %v\n", a.m.Workload, err)
		a.taken = true
	default:
		a.taken = away
	}
	return nil
}

// announce records the maintenance, and reports whether that is new. What is to be
// given back is recorded before anything is scaled.
func (a *announcement) announce(ctx context.Context) (config *corev1.ConfigMap, made bool, err error) {
	operator, err := a.findOperator(ctx)
	if err != nil {
		return nil, false, err
	}
	if a.existing == nil {
		config, err = outage.Declare(ctx, a.client, a.name.Namespace, a.m, operator)
		if errors.Is(err, outage.ErrNotPermitted) && !a.scaleDown {
			return a.announceUnended(ctx, err)
		}
		return config, true, err
	}
	config, err = a.change(ctx, operator)
	return config, false, err
}

// change changes what is announced. Where the operator cannot be permitted to end what
// it owes, it is as it was.
func (a *announcement) change(ctx context.Context, operator outage.Operator) (*corev1.ConfigMap, error) {
	config := a.existing.DeepCopy()
	config.Data = a.m.Data()
	if err := a.client.Update(ctx, config, fieldOwner); err != nil {
		return nil, fmt.Errorf("change what is announced: %w", err)
	}
	err := outage.Permit(ctx, a.client, config, a.m, operator)
	if errors.Is(err, outage.ErrNotPermitted) && a.m.Workload == nil {
		a.warnOfNoEnd(err)
		err = nil
	}
	if err == nil {
		return config, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	before := config.DeepCopy()
	before.Data = a.existing.Data
	if undone := a.client.Patch(ctx, before, client.MergeFrom(config), fieldOwner); undone != nil {
		return nil, fmt.Errorf("%w; and to take back what was changed in ConfigMap %q failed: %w", err, config.Name, undone)
	}
	return nil, fmt.Errorf("%w; what is announced is as it was", err)
}

// announceUnended announces a maintenance of which the operator may not delete the
// ConfigMap. That does no harm: once it is over it is ignored.
func (a *announcement) announceUnended(ctx context.Context, why error) (*corev1.ConfigMap, bool, error) {
	a.warnOfNoEnd(why)
	a.workload, a.m.Workload = nil, nil // It could not be given back in time.
	config, err := outage.Record(ctx, a.client, a.name.Namespace, a.m)
	return config, true, err
}

func (a *announcement) warnOfNoEnd(why error) {
	fmt.Fprintf(a.to.ErrOut, "warning: the announcement will be ignored at its end, and stays until `maintenance off`: %v\n", why)
}

// findOperator finds the operator that ends the maintenance.
func (a *announcement) findOperator(ctx context.Context) (outage.Operator, error) {
	if a.operator != "" {
		namespace, name, found := strings.Cut(a.operator, "/")
		if !found || namespace == "" || name == "" {
			return outage.Operator{}, fmt.Errorf("--operator: %q is not of the form NAMESPACE/NAME", a.operator)
		}
		return outage.Operator{ServiceAccount: types.NamespacedName{Namespace: namespace, Name: name}}, nil
	}
	if a.m.Until == nil {
		return outage.Operator{}, nil
	}
	operator, err := outage.FindOperator(ctx, a.client)
	if err == nil && operator.Assumed {
		fmt.Fprintf(a.to.ErrOut, "warning: the operator was not found, or you may not look for it; its ServiceAccount is taken to be %s (--operator says otherwise)\n",
			operator.ServiceAccount)
	}
	return operator, err
}

// await waits until the page is prepared.
func (a *announcement) await(ctx context.Context) error {
	last := ""
	err := wait.PollUntilContextTimeout(ctx, pollInterval, a.timeout, true, func(ctx context.Context) (bool, error) {
		is, err := prepared(ctx, a.client, a.service, a.m)
		if is || err != nil {
			return is, err
		}
		status, err := access.StatusOf(ctx, a.client, a.name)
		if err != nil || status == nil {
			return false, err
		}
		last = fmt.Sprintf("%s (%s): %s", status.State, status.Reason, status.Message)
		return false, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && wait.Interrupted(err):
		return fmt.Errorf("the page is not prepared within %s (--timeout); the Service is %s", a.timeout, last)
	default:
		return err
	}
}
