package check

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/waiting"
)

// staleDelivery is the age of a delivery that must be refused.
const staleDelivery = time.Hour

// redeliveries limits how often a refused delivery is repeated; redeliveryPause precedes each.
const (
	redeliveries    = 3
	redeliveryPause = 200 * time.Millisecond
	// redeliveryAge makes the first delivery claim to be that much older than its redelivery.
	redeliveryAge = 10 * time.Second
)

func webhooks() []Check {
	return []Check{
		row("HOOK-01", LevelMust, byCount, "A redelivery with a new time and a new signature is accepted and has no second effect.",
			"Standard Webhooks, \"Webhook Metadata\" and \"Idempotency\"",
			"Use the webhook-id as the key, and neither the time nor the signature, and answer a redelivery with 2xx: after any other answer, the sender tries again.",
			sends(2), wantsWebhook, withIntent(redeliversOnce)),
		row("HOOK-02", LevelMust, byCount, "A delivery with a wrong signature is refused, and has no effect.",
			"Standard Webhooks, \"Verifying webhook authenticity\"",
			"Verify the signature over id, time and body as received, before anything else.", sends(1), wantsSecret, withIntent(refusesForged)),
		row("HOOK-03", LevelMust, byCount, "A delivery with a wrong signature does not use up the id of the true one.",
			"Standard Webhooks, \"Verifying webhook authenticity\"; Semel promise 5",
			"Look the id up after verifying the signature: otherwise a stranger who guesses ids can suppress deliveries.", sends(2),
			wantsSecret, withIntent(sparesID)),
		row("HOOK-04", LevelShould, byCount, "A delivery whose time is an hour old is refused, and has no effect.",
			"Standard Webhooks, \"Replay attacks\"", "Refuse a time that is more than five minutes away. Senders sign redeliveries anew.",
			sends(1), wantsSecret, withIntent(refusesStale)),
		row("HOOK-05", LevelMust, byCount, "The same payload under another id has an effect of its own.",
			"Standard Webhooks, \"Idempotency\"", "Compare whole ids, and nothing else: two events may look alike.", sends(2),
			wantsWebhook, withIntent(executesOtherID)),
		row("HOOK-06", LevelMust, byCount, "A delivery whose processing failed is processed when it is sent again.",
			"Standard Webhooks, \"Idempotency\"; Semel promise 3",
			"Remember the id together with the effect, in one transaction, and not before it: otherwise the message is lost.",
			sends(1+redeliveries), wantsFailure, withIntent(processesAfterFailure)),
		row("HOOK-07", LevelMust, byCount, "A delivery that is sent again while the first is being processed is accepted only if it takes effect, which happens once.",
			"Standard Webhooks, \"Idempotency\"; Semel promises 1 and 7",
			"Let the second wait for the first, or refuse it so that it is sent again. A receiver that answers 2xx before the effect is certain loses the message if the first fails.",
			sends(2*(2+redeliveries)), wantsWebhook, redeliversWhileRunning),
	}
}

func wantsWebhook(c *Config) string {
	return unless(c.Profile.Webhook, "the profile is not for webhooks")
}

func wantsSecret(c *Config) string {
	return cmp.Or(wantsWebhook(c), unless(len(c.Secret) > 0, "without the webhook's secret nothing can be signed"))
}

func wantsFailure(c *Config) string {
	return cmp.Or(wantsWebhook(c), unless(c.Observed != nil || c.Failing != nil,
		"nothing can be made to fail: observe a dependency, or give a failing request"))
}

// deliverAt sends a delivery signed at that time, with the changes made after the signature.
func (p *probe) deliverAt(ctx context.Context, label string, at time.Time, in *intent, changes ...change) reply {
	r, err := p.request(in)
	if err != nil {
		return reply{err: err}
	}
	p.run.config.sign(r, at)
	for _, change := range changes {
		change(r)
	}
	return p.deliver(ctx, label, in, r, &wire.Manner{})
}

func redeliversOnce(ctx context.Context, p *probe, in *intent) finding {
	since, now := p.before(ctx), time.Now()
	// The time is in seconds, and the two deliveries need different times.
	if first := p.deliverAt(ctx, "delivered", now.Add(-redeliveryAge), in); !first.taken() {
		return incomplete("the first delivery was answered %s", first)
	}
	if again := p.deliverAt(ctx, "redelivered", now, in); !again.taken() {
		return failed("the redelivery was answered %s", again).blaming(again)
	}
	return p.once(ctx, since, in)
}

func (p *probe) forge(r *wire.Request) {
	other := *p.run.config
	other.Secret = []byte("semel-check-" + random(12))
	other.sign(r, time.Now())
}

func refusesForged(ctx context.Context, p *probe, in *intent) finding {
	return p.refusesDelivery(ctx, in, "a delivery with a wrong signature", time.Now(), p.forge)
}

func refusesStale(ctx context.Context, p *probe, in *intent) finding {
	return p.refusesDelivery(ctx, in, "a delivery of an hour ago", time.Now().Add(-staleDelivery))
}

func (p *probe) refusesDelivery(ctx context.Context, in *intent, what string, at time.Time, changes ...change) finding {
	since := p.before(ctx)
	switch r := p.deliverAt(ctx, what, at, in, changes...); {
	case !r.answered():
		return incomplete("the delivery got %s", r)
	case !r.refused():
		return failed("%s was answered %s", what, r)
	}
	return p.effects(ctx, since, 0, 0, in)
}

func sparesID(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	forged := p.deliverAt(ctx, "with a wrong signature", time.Now(), in, p.forge)
	switch {
	case !forged.answered():
		return incomplete("the forged delivery got %s", forged)
	case forged.taken(): // its effects are counted apart from those of the true one
		if f := p.effects(ctx, since, 1, 1, in); f.verdict == Incomplete {
			return f
		}
		since = p.before(ctx, in)
	}
	if r := p.send(ctx, "rightly signed", in); !r.taken() {
		return failed("after a forged delivery with its id the true one was answered %s", r).blaming(r)
	}
	f := p.once(ctx, since, in)
	if f.verdict == Fail {
		f.reason = fmt.Sprintf("the forged delivery was answered %s, and the true one had %s", forged, f.reason)
	}
	return f
}

func executesOtherID(ctx context.Context, p *probe, in *intent) finding {
	other := in.renamed(in.key + "-" + random(4)) // looks the same to a service that compares only a part
	if p.run.config.NewKey != "" {
		var err error
		if other, err = p.likeness(ctx, in); err != nil {
			return incomplete("%v", err)
		}
	}
	since := p.before(ctx)
	if first := p.send(ctx, "delivered", in); !first.taken() {
		return incomplete("the first delivery was answered %s", first)
	}
	if f := p.once(ctx, since, in); !f.ok() {
		return incomplete("the first delivery: %s", f.reason)
	}
	since = p.before(ctx, other) // with the values of the first
	second := p.send(ctx, "the same payload with another id", other)
	switch {
	case second.taken():
		return p.once(ctx, since, other)
	case !second.refused() || !p.run.config.Template.Varies():
		return failed("the second was answered %s", second).blaming(second)
	}
	if f := p.effects(ctx, since, 0, 0, other); !f.ok() {
		return f
	}
	return skipped("the application refuses the same values twice: %s", second)
}

func processesAfterFailure(ctx context.Context, p *probe, in *intent) finding {
	since, config := p.before(ctx), p.run.config
	var first reply
	message := &config.Template
	if config.Observed == nil {
		message = config.Failing
		first = p.sendOf(ctx, "delivered, and processing fails", message, in)
	} else {
		var f finding
		if first, f = p.withoutDependency(ctx, in); !f.ok() {
			return f
		}
	}
	if first.taken() {
		return p.acceptedFailure(ctx, since, in, first)
	}
	last, taken := p.redeliver(ctx, message, in)
	switch {
	case taken:
		return p.once(ctx, since, in)
	case config.Observed == nil:
		return incomplete("the failing request fails each time: %s", last)
	}
	return failed("after a failure (%s) no redelivery was accepted: the last was answered %s", first, last)
}

// acceptedFailure judges a delivery that was accepted although something was made to fail: its sender will not send it
// again.
func (p *probe) acceptedFailure(ctx context.Context, since tally, in *intent, first reply) finding {
	f := p.once(ctx, since, in)
	_, knows := p.run.config.Observed.(interface{ Pending() int })
	switch {
	case f.verdict == Incomplete:
		return f
	case p.run.config.Observed == nil, f.ok() && !knows:
		return incomplete("the delivery was answered %s: the failure may not have reached it", first)
	case f.ok():
		return passedBut("the service tried again on its own")
	}
	return f.because("the delivery was answered %s although its processing failed, and had %s", first, f.reason)
}

func (p *probe) redeliver(ctx context.Context, message *Template, in *intent) (last reply, taken bool) {
	for range redeliveries {
		if !waiting.Sleep(ctx, redeliveryPause) {
			return reply{err: ctx.Err()}, false
		}
		if last = p.sendOf(ctx, "redelivered", message, in); last.taken() {
			return last, true
		}
	}
	return last, false
}

func redeliversWhileRunning(ctx context.Context, p *probe) finding {
	if f := p.redeliverTwin(ctx); !f.ok() || p.run.config.Observed == nil {
		return f
	}
	p.run.config.Observed.FailNext(1, http.StatusInternalServerError)
	defer p.run.config.Observed.FailNext(0, 0)
	return p.redeliverTwin(ctx)
}

// redeliverTwin sends a delivery twice at once, and again until it is accepted.
func (p *probe) redeliverTwin(ctx context.Context) finding {
	in, err := p.intent(ctx)
	if err != nil {
		return incomplete("%v", err)
	}
	since := p.before(ctx)
	twins := p.together(2, func(i int) reply { return p.send(ctx, fmt.Sprintf("delivery %d", i+1), in) })
	if !twins[0].taken() && !twins[1].taken() {
		if last, taken := p.redeliver(ctx, &p.run.config.Template, in); !taken {
			return incomplete("no delivery was accepted: the last was answered %s", last)
		}
	}
	return p.once(ctx, since, in)
}
