package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/job"
	"github.com/semel-dev/semel/internal/verdict"
)

const (
	// DefaultRetention is Options.Retention unless set, for drivers that compare it with their broker's.
	DefaultRetention = 7 * 24 * time.Hour

	defaultMaxAttempts = 5
	defaultMaxBytes    = 1 << 20
	defaultKeep        = 90 * 24 * time.Hour
	defaultPause       = time.Second

	// maxConsumerBytes bounds Options.Consumer.
	maxConsumerBytes = 128
	// maxRetention bounds the retentions.
	maxRetention = 10 * 365 * 24 * time.Hour
	// mostPause bounds the pauses between attempts, and between deliveries while the store is away.
	mostPause = 5 * time.Minute
	// maxQuestions bounds how often Options.Ask is asked about one attempt.
	maxQuestions = 20

	intentScope     = verdict.OwnScopes + "inbox:"
	attemptsScope   = verdict.OwnScopes + "inbox-attempts:"
	quarantineScope = verdict.OwnScopes + "quarantine:"
	decisionScope   = verdict.OwnScopes + "quarantine-decision:"
	doneScope       = verdict.OwnScopes + "quarantine-released:"
)

// Options are the settings of New. Consumer is required; a bound that is negative is an
// error.
type Options struct {
	// Consumer names who handles the messages: two consumers each handle every message. It
	// is part of the identity of each message: changing it makes every message new. At most 128
	// printable characters.
	Consumer string
	// MaxAttempts bounds the attempts that a handler began; a message whose last one failed is
	// quarantined. Default 5.
	MaxAttempts int
	// Pause is the wait after the first failed attempt; it doubles with each, up to five
	// minutes. Default 1 s.
	Pause time.Duration
	// Retention is the time for which a message is remembered after it was handled, or its
	// outcome became unknown. A message that the broker delivers after that is handled again,
	// so it must be longer than Redelivery. Default [DefaultRetention].
	Retention time.Duration
	// Redelivery is the longest time after which the broker may deliver a message again: the
	// age limit of a stream, the retention of a topic. New logs a warning when Retention is not
	// longer. 0 for unknown.
	Redelivery time.Duration
	// QuarantineRetention is the time for which a message is kept in quarantine, unless an
	// operator decides on it. Default 90 days, at least Retention.
	QuarantineRetention time.Duration
	// MaxBytes bounds a message with its subject and headers; a larger one is quarantined
	// without being handled. Default 1 MiB.
	MaxBytes int
	// IgnoreKey leaves Message.Key out of what makes two messages the same, as programs do that were built before messages had
	// keys. Set it while such a program works on the same store, which would otherwise quarantine repetitions that this one handled
	// first, and leave it out afterwards: records of both kinds are recognised either way. See docs/upgrade.md.
	IgnoreKey bool
	// Ask, when set, finds out whether a message with an unknown outcome was handled: rec is its
	// record. [semel.Happened] completes it, [semel.NotHappened] has it handled again, and must
	// also mean that it can no longer arrive. With [semel.StillUnknown], or an error, it is asked
	// again later, with growing pauses, at most 20 times; then the message is quarantined, as
	// it is at once without Ask. See [semel.Policy].Reconcile.
	Ask func(ctx context.Context, rec semel.Record, m Message) (semel.Reconciliation, error)
	// Logger gets what operators should know: messages put into quarantine, panics of handlers and of
	// Ask with their stack, and settings that break a promise. Default [slog.Default].
	Logger *slog.Logger
	// Observe, when set, is called after every delivery, with its verdict and how long it
	// took, for metrics. It is called concurrently.
	Observe func(m Message, v Verdict, took time.Duration)
}

// Inbox makes messages of one consumer take effect once. Its methods are safe for
// concurrent use, in any number of processes. Make one with New.
type Inbox struct {
	opts   Options
	guard  *semel.Guard // takes nothing over
	rows   *semel.Guard // the same, for transactions: what fails is rolled back
	counts *semel.Guard // for the attempts of transactions
	copies *semel.Guard // for the messages in quarantine
	policy semel.Policy // of guard
	log    *slog.Logger
	// outages counts the pauses in a row that found the store away, and paused says when the last one ends, in nanoseconds since 1970.
	outages atomic.Int32
	paused  atomic.Int64
}

// New returns the inbox of a consumer over the guard, whose policy applies to the messages
// as far as Lease, MaxRun, ReconcileTimeout. The guard's store remembers them.
func New(guard *semel.Guard, o *Options) (*Inbox, error) {
	if guard == nil || o == nil {
		return nil, errors.New("inbox: New needs a guard, and options with the consumer's name")
	}
	in := &Inbox{opts: *o, log: o.Logger}
	if in.log == nil {
		in.log = slog.Default()
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	from := guard.Policy()
	in.policy = semel.Policy{
		Dedup: true, Lease: from.Lease, MaxRun: from.MaxRun, Wait: semel.NoWait,
		Retention: in.opts.Retention, UnknownRetention: in.opts.Retention, UnknownOnError: true, ReconcileTimeout: from.ReconcileTimeout,
	}
	var err error
	if in.guard, err = guard.With(in.policy); err != nil {
		return nil, err
	}
	in.copies, err = guard.With(semel.Policy{
		Lease: from.Lease, Retention: in.opts.QuarantineRetention, UnknownRetention: in.opts.QuarantineRetention,
		OnUnknown: semel.Rerun, // writing a copy twice does no harm
	})
	if err != nil {
		return nil, err
	}
	rows := in.policy
	rows.UnknownOnError = false
	if in.rows, err = guard.With(rows); err != nil {
		return nil, err
	}
	counts := in.policy
	counts.OnUnknown = semel.Rerun // counting twice does no harm
	if in.counts, err = guard.With(counts); err != nil {
		return nil, err
	}
	in.warn()
	return in, nil
}

// check fills in the defaults, and reports what cannot work.
func (in *Inbox) check() error {
	o := &in.opts
	for _, b := range []struct {
		name  string
		value int64
	}{
		{"MaxAttempts", int64(o.MaxAttempts)},
		{"Pause", int64(o.Pause)},
		{"Retention", int64(o.Retention)},
		{"Redelivery", int64(o.Redelivery)},
		{"QuarantineRetention", int64(o.QuarantineRetention)},
		{"MaxBytes", int64(o.MaxBytes)},
	} {
		if b.value < 0 {
			return fmt.Errorf("inbox: Options.%s is negative (leave it out for the default)", b.name)
		}
	}
	o.MaxAttempts = cmp.Or(o.MaxAttempts, defaultMaxAttempts)
	o.Pause = min(cmp.Or(o.Pause, defaultPause), mostPause)
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.QuarantineRetention = cmp.Or(o.QuarantineRetention, max(defaultKeep, o.Retention))
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	switch {
	case o.Consumer == "" || len(o.Consumer) > maxConsumerBytes:
		return fmt.Errorf("inbox: Options.Consumer has %d bytes, want 1 to %d", len(o.Consumer), maxConsumerBytes)
	case o.QuarantineRetention < o.Retention:
		return fmt.Errorf("inbox: QuarantineRetention %v is shorter than Retention %v", o.QuarantineRetention, o.Retention)
	case o.QuarantineRetention > maxRetention:
		return fmt.Errorf("inbox: a retention is longer than %v", maxRetention)
	}
	if err := in.key("1").Validate(); err != nil {
		return fmt.Errorf("inbox: Options.Consumer: %w", err)
	}
	return nil
}

// warn logs settings that break a promise.
func (in *Inbox) warn() {
	o := &in.opts
	if o.Redelivery >= o.Retention {
		in.log.Warn("inbox: a message that the broker delivers after the retention is handled again: raise Options.Retention above Redelivery",
			slog.String("consumer", o.Consumer), slog.Duration("retention", o.Retention), slog.Duration("redelivery", o.Redelivery))
	}
	if in.guard.HidesKeys() {
		in.log.Warn("inbox: the guard hides keys: messages in quarantine cannot be listed, and those that an operator releases are not found",
			slog.String("consumer", o.Consumer))
	}
}

// key is that of the intent of a message with this ID, which may have any length and any bytes.
func (in *Inbox) key(id string) semel.Key {
	return semel.Key{Scope: intentScope + in.opts.Consumer, Name: job.Fit(id)}
}

// fingerprints returns that under which a message is recorded, and another one under which it may have been.
func (in *Inbox) fingerprints(m *Message) (fp, other semel.Fingerprint) {
	keyed, keyless := m.fingerprints()
	if in.opts.IgnoreKey {
		return keyless, keyed
	}
	return keyed, keyless
}

// pause returns the wait after the attempt, or the question, with that number.
func (in *Inbox) pause(n int) time.Duration {
	d := in.opts.Pause
	for range n - 1 {
		if d = 2 * d; d >= mostPause {
			return mostPause
		}
	}
	return d
}
