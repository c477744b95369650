// Package job makes the work of a job runner happen once, and says what the runner does next. The runner delivers a
// job at least once and knows two ends, success and error; a guard knows more of them:
//
//	the work ran            no error                             Done
//	                        no error, but it was not recorded    Done, with the error to log
//	                        an error made with semel.MarkFinal   Never
//	                        any other error                      Fail
//	it was done before                                           Done
//	another attempt runs, the store does not answer              Again: nothing happened
//	it may have happened, was cancelled, asks for other work     Never: an operator decides
package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/internal/mark"
	"github.com/semel-dev/semel/internal/sfv"
	"github.com/semel-dev/semel/internal/verdict"
)

// Retention is the default time for which a job is remembered: longer than runners repeat one (25 attempts take three weeks) and
// keep its row after that.
const Retention = 30 * 24 * time.Hour

// Act says how a runner goes on with a job after an attempt.
type Act uint8

const (
	// Fail reports Verdict.Err as an error of the work: counted, and retried as the runner does.
	Fail Act = iota
	// Done reports success. Verdict.Err, when set, is to be logged.
	Done
	// Again delivers the job once more after Verdict.After, without counting the attempt.
	Again
	// Never ends the job with Verdict.Err.
	Never
)

// Verdict says how a runner goes on. The zero Verdict is a failure.
type Verdict struct {
	Act   Act
	After time.Duration
	Err   error
}

// Guard returns the view of a guard for jobs. The zero fields of p have defaults: Retention, and no waiting, because a runner has
// better use for its worker than a twin that waits.
func Guard(g *semel.Guard, p semel.Policy) (*semel.Guard, error) {
	if g == nil {
		return nil, errors.New("semel: the guard is nil")
	}
	p.Retention = cmp.Or(p.Retention, Retention)
	p.UnknownRetention = cmp.Or(p.UnknownRetention, p.Retention)
	p.Wait = cmp.Or(p.Wait, semel.NoWait)
	return g.With(p)
}

// Do is a Do of package semel or of a store, for work whose result is an error alone.
type Do func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, work func(context.Context) (struct{}, error)) (struct{}, error)

// Run does the work of a job once for the key, by do.
func Run(ctx context.Context, do Do, g *semel.Guard, k semel.Key, fp semel.Fingerprint, work func(context.Context) error) Verdict {
	ran := false
	var failed error
	_, err := do(With(ctx, k), g, k, fp, func(ctx context.Context) (struct{}, error) {
		ran = true
		failed = work(ctx)
		return struct{}{}, failed
	})
	return Judge(ran, failed, err)
}

// Judge judges an attempt by whether its work ran, the work's error, and the error of the Do around it.
func Judge(ran bool, failed, err error) Verdict {
	switch {
	case err == nil:
		return Verdict{Act: Done}
	case !ran:
		return refused(err)
	case failed == nil && errors.Is(err, semel.ErrNotStored):
		return Verdict{Act: Done, Err: err}
	case mark.Of[semel.State](failed) == semel.StateCompleted:
		return Verdict{Act: Never, Err: err}
	}
	return Verdict{Act: Fail, Err: err}
}

// refused judges an attempt whose work did not run.
func refused(err error) Verdict {
	refusal, ok := errors.AsType[*semel.Error](err)
	_, replayed := errors.AsType[*semel.FinalError](err)
	switch {
	case replayed:
		return Verdict{Act: Never, Err: err}
	case !ok:
		return Verdict{Act: Fail, Err: err}
	case done(err):
		return Verdict{Act: Done}
	case refusal.Retryable():
		v := Verdict{Act: Again, After: refusal.RetryAfter, Err: err}
		if refusal.Record != nil {
			v.After = max(v.After, refusal.Record.LeaseLeft())
		}
		return v
	case parked(err):
		return Verdict{Act: Never, Err: fmt.Errorf("%w (%s To look at the record: semel records show %.12s)", err, refusal.Advice(), refusal.Digest)}
	}
	return Verdict{Act: Fail, Err: err}
}

// done reports whether a refusal says that it happened.
func done(err error) bool {
	return errors.Is(err, semel.ErrDuplicate) || errors.Is(err, semel.ErrNotKept) || errors.Is(err, semel.ErrUnreadable)
}

// parked reports whether a refusal stays the same however often the job is tried.
func parked(err error) bool {
	return errors.Is(err, semel.ErrUnknown) || errors.Is(err, semel.ErrMismatch) || errors.Is(err, semel.ErrCancelled) ||
		errors.Is(err, semel.ErrKeyInvalid) || errors.Is(err, semel.ErrScopeMissing)
}

// Key returns the key of a job: the intents of runners are in scopes of their own, one for each kind. A digest takes the place of ids
// that cannot be part of a key, because a runner may allow longer ones, and other characters.
func Key(runner, name string, kind ...string) semel.Key {
	scope := verdict.OwnScopes + runner + ":"
	k := semel.Key{Scope: scope, Name: Fit(name)}
	for i, part := range kind {
		if i < len(kind)-1 {
			part = separators.Replace(part) + ":"
		}
		k.Scope += part
	}
	if len(k.Scope) > semel.MaxScopeBytes || !sfv.Printable(k.Scope) {
		k.Scope = scope + semel.FingerprintOf(kind...).String()
	}
	return k
}

// Fit returns the name of a key for an id of any length and any bytes: the id, or a digest of one that cannot be a name.
func Fit(id string) string {
	if len(id) > semel.MaxKeyBytes || !sfv.Printable(id) {
		return semel.FingerprintOf(id).String()
	}
	return id
}

// separators keeps a part from looking like two. The last part needs no change, because nothing follows it.
var separators = strings.NewReplacer("%", "%25", ":", "%3A") //nolint:gochecknoglobals // it is never changed.

type onward struct{}

// With returns a context from which [KeyFor] takes the key.
func With(ctx context.Context, k semel.Key) context.Context {
	return context.WithValue(ctx, onward{}, k)
}

// KeyFor returns the key of the job under which ctx works, for a service that deduplicates: 64 hexadecimal digits, whatever secrets
// the guard has. It is empty outside of a job.
func KeyFor(ctx context.Context) string {
	k, ok := ctx.Value(onward{}).(semel.Key)
	if !ok {
		return ""
	}
	return ids.Derive(nil, k.Scope, k.Name)
}
