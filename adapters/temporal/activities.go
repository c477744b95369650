package semeltemporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/job"
)

// maxResultBytes is the largest result that is kept unless the policy has a limit: a payload of Temporal's 2 MiB, in the envelope of a record.
const maxResultBytes = 3 << 20

// Options are the settings of [New]. A nil *Options is complete.
type Options struct {
	// Policy applies to activities instead of the guard's. Zero fields have their usual defaults, but Retention is 30 days and MaxOutcomeBytes
	// 3 MiB. Retention has to be longer than Temporal retries an activity. MaxRun (15 minutes) has to be longer than an activity may take. An
	// attempt whose twin runs waits for Wait, unless half of its own time, or of its heartbeat's, is shorter: then not at all. With OnUnknown:
	// Reconcile, an activity that may have happened is looked up.
	Policy semel.Policy
	// Key names the work of an activity: activities of one namespace, type and name happen once together, and their arguments must be the same.
	// Nil for the ids of the workflow, its run and the activity, and whether it is a local one, so that a reset or a retried workflow runs it
	// again. The ActivityID of a local activity is its number in the run, whichever attempt it is; a regular activity may have the same.
	// Activities for which it returns "" run unprotected.
	Key func(activity.Info) string
	// AskAgain is the pause after which Temporal repeats an attempt whose outcome is unknown, until an operator or Reconcile has settled the
	// record. Each repetition counts as an attempt. Default 0: the activity fails.
	AskAgain time.Duration
	// DataConverter encodes arguments, to compare them, and results, to keep them: the worker's own, without encryption. Default
	// converter.GetDefaultDataConverter.
	DataConverter converter.DataConverter
	// Logger gets work that happened and could not be recorded. Default slog.Default().
	Logger *slog.Logger
}

// Activities makes activities happen once. It is for worker.Options.Interceptors, after interceptors that only observe, recover panics
// or retry, and safe for concurrent use. Make one with [New].
//
// The activity's context ends with the claim of the attempt, which semel.ClaimFrom returns. Its error decides as in [semel.Do]: a plain error
// says that nothing happened (or what Policy.UnknownOnError says), a panic, a time-out or a cancelled context that it is unknown; [semel.MarkReleased],
// [semel.MarkUnknown] and [semel.MarkFinal] say it explicitly. After MarkFinal the activity fails without a retry. activity.ErrResultPending leaves
// the outcome unknown to Semel. The arguments of dynamic activities are not compared.
type Activities struct {
	interceptor.WorkerInterceptorBase

	guard, impatient *semel.Guard // impatient does not wait for a twin
	key              func(activity.Info) string
	askAgain         time.Duration
	converter        converter.DataConverter
	logger           *slog.Logger
}

var _ interceptor.WorkerInterceptor = (*Activities)(nil)

// New returns the activities of a guard, over any store that all workers share. o may be nil.
func New(g *semel.Guard, o *Options) (*Activities, error) {
	o = cmp.Or(o, &Options{})
	if o.AskAgain < 0 {
		return nil, fmt.Errorf("semeltemporal: AskAgain of %v is negative", o.AskAgain)
	}
	p := o.Policy
	p.Wait = cmp.Or(p.Wait, semel.DefaultWait)
	p.MaxOutcomeBytes = cmp.Or(p.MaxOutcomeBytes, maxResultBytes)
	guard, err := job.Guard(g, p)
	if err != nil {
		return nil, fmt.Errorf("semeltemporal: %w", err)
	}
	p.Wait = semel.NoWait
	impatient, err := job.Guard(g, p)
	if err != nil {
		return nil, fmt.Errorf("semeltemporal: %w", err)
	}
	a := &Activities{
		guard: guard, impatient: impatient, key: o.Key, askAgain: o.AskAgain,
		converter: o.DataConverter, logger: cmp.Or(o.Logger, slog.Default()),
	}
	if a.key == nil {
		a.key = nameOf
	}
	if a.converter == nil {
		a.converter = converter.GetDefaultDataConverter()
	}
	return a, nil
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (a *Activities) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &inbound{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, activities: a}
}

// inbound is the interceptor of one activity.
type inbound struct {
	interceptor.ActivityInboundInterceptorBase

	activities *Activities
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (i *inbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	a, info := i.activities, activity.GetInfo(ctx)
	if info.IsLocalActivity {
		info.ActivityID = cmp.Or(numberFrom(ctx), info.ActivityID)
	}
	name := a.key(info)
	key := keyOf(&info, cmp.Or(name, nameOf(info)))
	ctx = job.With(ctx, key)
	if name == "" {
		return i.Next.ExecuteActivity(ctx, in)
	}
	fp, err := fingerprint(a.converter, info.ActivityType.Name, in.Args)
	if err != nil {
		return nil, err
	}
	var (
		ran            bool
		result         any
		failed, unkept error
	)
	kept, err := semel.Do(ctx, a.view(ctx, &info), key, fp, func(ctx context.Context) (outcome []byte, err error) {
		ran = true
		if result, failed = i.Next.ExecuteActivity(ctx, in); failed == nil {
			outcome, unkept = a.keep(ctx, &info, result)
			return outcome, unkept
		}
		if failed == activity.ErrResultPending { //nolint:errorlint // as the SDK compares it.
			return nil, semel.MarkUnknown(failed)
		}
		return nil, failed
	})
	if unkept != nil {
		return nil, refusal(fmt.Errorf("%w: %w", semel.ErrNotKept, unkept), nil)
	}
	switch v := job.Judge(ran, failed, err); v.Act {
	case job.Done:
		switch {
		case !ran && err != nil:
			return nil, refusal(err, nil)
		case !ran:
			return decode(kept)
		case v.Err != nil:
			a.unrecorded(ctx, &info, v.Err)
		}
		return result, nil
	case job.Again:
		return nil, refusal(v.Err, &v.After)
	case job.Never:
		if a.askAgain > 0 && errors.Is(v.Err, semel.ErrUnknown) {
			return nil, refusal(v.Err, &a.askAgain)
		}
		return nil, refusal(v.Err, nil)
	case job.Fail:
		if ran {
			return result, a.failure(ctx, &info, failed, err)
		}
	}
	return nil, err
}

// keep encodes a result for the record. An activity whose result has no encoding has happened: its claim is completed without.
func (a *Activities) keep(ctx context.Context, info *activity.Info, result any) ([]byte, error) {
	outcome, err := encode(a.converter, result)
	if err == nil {
		return outcome, nil
	}
	if stored := semel.ClaimFrom(ctx).CompleteWithout(nil); stored != nil { //nolint:contextcheck // a settlement outlives the activity's context.
		a.unrecorded(ctx, info, stored)
	}
	return nil, err
}

// view returns the guard for an attempt: one that has no time to wait for its twin leaves the wait to Temporal.
func (a *Activities) view(ctx context.Context, info *activity.Info) *semel.Guard {
	left := time.Duration(1<<63 - 1)
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	if info.HeartbeatTimeout > 0 {
		left = min(left, info.HeartbeatTimeout)
	}
	if left/2 < a.guard.Policy().Wait {
		return a.impatient
	}
	return a.guard
}

// failure returns the error of an activity that ran as Temporal knows it: of the type that the activity chose, without a mark.
func (a *Activities) failure(ctx context.Context, info *activity.Info, failed, err error) error {
	if errors.Is(err, semel.ErrNotStored) {
		a.unrecorded(ctx, info, err)
	}
	if failed == activity.ErrResultPending { //nolint:errorlint // as the SDK compares it.
		return failed
	}
	if _, marked := failed.(interface{ Marked() semel.State }); marked { // one below another error stays there
		return errors.Unwrap(failed)
	}
	return failed
}

func (a *Activities) unrecorded(ctx context.Context, info *activity.Info, err error) {
	a.logger.ErrorContext(ctx, "semeltemporal: the activity ran, but its outcome could not be recorded",
		slog.String("workflow", info.WorkflowExecution.ID), slog.String("run", info.WorkflowExecution.RunID),
		slog.String("activity", info.ActivityID), slog.String("type", info.ActivityType.Name), slog.Any("error", err))
}

// refusal tells Temporal of an attempt that did not run, or is final. It is repeated after a while; without one, never.
func refusal(err error, after *time.Duration) error {
	o := temporal.ApplicationErrorOptions{Cause: err, NonRetryable: after == nil}
	if after != nil {
		o.NextRetryDelay = max(*after, time.Millisecond) // 0 means Temporal's own
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), typeOf(err), o)
}

// typeOf returns the type of the error, by which a workflow recognises it.
func typeOf(err error) string {
	for _, t := range []struct {
		err  error
		name string
	}{
		{semel.ErrInFlight, "SemelInFlight"},
		{semel.ErrMismatch, "SemelMismatch"},
		{semel.ErrUnknown, "SemelUnknown"},
		{semel.ErrCancelled, "SemelCancelled"},
		{semel.ErrNotKept, "SemelNotKept"},
		{semel.ErrUnreadable, "SemelNotKept"},
		{semel.ErrDuplicate, "SemelNotKept"},
		{semel.ErrKeyInvalid, "SemelKeyInvalid"},
	} {
		if errors.Is(err, t.err) {
			return t.name
		}
	}
	if _, ok := errors.AsType[*semel.Error](err); ok {
		return "SemelUnavailable"
	}
	return "SemelFinal"
}

// nameOf names an activity of a workflow, or one that was started on its own. Local activities are numbered apart from others.
func nameOf(info activity.Info) string {
	run := cmp.Or(info.WorkflowExecution.RunID, info.ActivityRunID)
	if info.IsLocalActivity {
		run += ":local"
	}
	return info.WorkflowExecution.ID + "/" + run + "/" + info.ActivityID
}

// keyOf returns the key of the work of an activity.
func keyOf(info *activity.Info, name string) semel.Key {
	return job.Key("temporal", name, info.Namespace, info.ActivityType.Name)
}

// KeyFor returns the key of the activity under whose context a function works, for a service that deduplicates: the same in every attempt,
// whatever the guard's secrets are, and another for every other activity and every other run of the workflow, unless [Options.Key] says
// otherwise. For activities that it leaves unprotected, the key is made of the ids as if it was nil. It is empty outside of a worker with
// [Activities].
func KeyFor(ctx context.Context) string { return job.KeyFor(ctx) }
