package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// killRounds is the number of moments in a request at which the service is killed.
	killRounds = 3
	// outagePatience bounds how long a service may take to come back, and how long it may refuse an interrupted attempt
	// if its Recovery is unknown.
	outagePatience = time.Minute
	// outageTries is the most requests that are sent to learn the outcome of an interrupted attempt.
	outageTries = 20
	// outagePause precedes the second of them.
	outagePause = 100 * time.Millisecond
)

func operations() []Check {
	return []Check{
		row("OP-01", LevelMust, byCount, "An answer survives a restart of the service.",
			"Semel promises 2 and 7", "Keep keys and answers with the data, in a database, and not in the memory of one process.",
			sends(1+outageTries), wantsRestart, withAttempt(survivesRestart)),
		row("OP-02", LevelMust, byCount, "If the service is killed in the middle of a request, the request has at most one effect, however often it is retried.",
			"Semel promises 3 and 4",
			"Commit the effect and the record of it in one transaction. Where that is impossible, do not run again what may have happened, but answer that the outcome is unknown.",
			sends(killRounds*(1+outageTries)), wantsKill, killedWithoutDouble),
		row("OP-03", LevelMust, byAnswer, "After the service was killed in the middle of a request, a retry gets an answer or a clear refusal.",
			"draft -07 §2.7; Semel promise 3",
			"Hold a key by a lease that expires soon after its holder dies, not for as long as answers are kept; then execute, or refuse with a problem.",
			sends(killRounds*(1+outageTries)), wantsKill, killedWithAnswer),
	}
}

func wantsRestart(c *Config) string {
	return unless(c.Restart != nil, "no command was given that restarts the service")
}

func wantsKill(c *Config) string {
	return unless(c.Kill != nil, "no command was given that kills the service and starts it again")
}

func survivesRestart(ctx context.Context, p *probe, a attempt) finding {
	p.expectOutage(true)
	defer p.expectOutage(false)
	if f := p.takeAway(ctx, "restarted", p.run.config.Restart); !f.ok() {
		return f
	}
	again := p.afterOutage(ctx, "after the restart", a.in)
	if f := p.once(ctx, a.since, a.in); !f.ok() {
		return f
	}
	return p.repeats(a.first, again)
}

func killedWithoutDouble(ctx context.Context, p *probe) finding {
	remark := passed()
	for round := range killRounds {
		in, err := p.intent(ctx)
		if err != nil {
			return incomplete("%v", err)
		}
		since := p.before(ctx)
		last, f := p.killDuring(ctx, in, round)
		if !f.ok() {
			return f
		}
		least := int64(0)
		if last.fine() {
			least = 1
		}
		switch f = p.effects(ctx, since, least, 1, in); {
		case f.verdict == Fail:
			return f.because("%s; after the kill the last retry was answered %s", f.reason, last)
		case !f.ok():
			return f
		case !last.answered() || p.comesToNoEnd(last):
			return incomplete("at most one effect so far, but after the kill the last retry got %s: the outcome is unknown", last)
		case !last.fine():
			remark = passedBut("what a kill interrupts is answered %s", last)
		}
	}
	return remark
}

func killedWithAnswer(ctx context.Context, p *probe) finding {
	remark := passed()
	for round := range killRounds {
		in, err := p.intent(ctx)
		if err != nil {
			return incomplete("%v", err)
		}
		last, f := p.killDuring(ctx, in, round)
		if !f.ok() {
			return f
		}
		if f = p.clear(last); !f.ok() {
			return f
		}
		if f.reason != "" {
			remark = f
		}
	}
	return remark
}

// clear reports whether the last answer after a kill tells the client what to do.
func (p *probe) clear(last reply) finding {
	switch {
	case last.fine(), p.refusedDuplicate(last):
		return passed()
	case errors.Is(last.err, wire.ErrUnreachable), errors.Is(last.err, wire.ErrTimeout) && p.run.config.Recovery <= 0:
		return incomplete("after the kill a retry got %s", last)
	case !last.answered():
		return failed("after the kill a retry got %s", last)
	case p.comesToNoEnd(last) && p.run.config.Recovery > 0:
		return failed("a retry is still refused by %s although the service should have recovered within %s of the kill", last, p.run.config.Recovery)
	case p.comesToNoEnd(last):
		return incomplete("a retry is still refused by %s a minute after the kill: say with --recovery how long the service may take", last)
	case last.failure():
		return failed("after the kill a retry is answered %s", last)
	case len(last.Body) == 0 && last.Header.Get("Link") == "":
		return failed("after the kill a retry is refused by %s, without a reason", last)
	}
	return passedBut("what a kill interrupts is refused by %s", last)
}

// killDuring kills the service while it works on the intent, after a fraction of its usual time; a fast service may be
// done by then, which is a fair case as well. The reply is the last one that retries got.
func (p *probe) killDuring(ctx context.Context, in *intent, round int) (reply, finding) {
	p.expectOutage(true)
	defer p.expectOutage(false)
	connected := make(chan struct{})
	var once sync.Once
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{ConnectDone: func(_, _ string, err error) {
		if err == nil {
			once.Do(func() { close(connected) })
		}
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.send(traced, "killed", in)
	}()
	select {
	case <-connected:
	case <-ended:
	}
	waiting.Sleep(ctx, p.usual()*time.Duration(round+1)/(killRounds+1)) // if the context ends, so does the rest
	f := p.takeAway(ctx, "killed", p.run.config.Kill)
	<-ended // within the time that one exchange may take
	if !f.ok() {
		return reply{}, f
	}
	return p.afterOutage(ctx, "after the kill", in), passed()
}

func (p *probe) expectOutage(expected bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mayDie = expected
}

// takeAway runs the command that stops the service, and waits until something listens at its address again.
func (p *probe) takeAway(ctx context.Context, what string, how func(context.Context) error) finding {
	if err := how(ctx); err != nil {
		return incomplete("the service could not be %s: %v", what, err)
	}
	r, err := p.request(p.run.sample.a)
	if err != nil {
		return incomplete("%v", err)
	}
	within, cancel := context.WithTimeout(ctx, outagePatience)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(within, "tcp", wire.Address(r.URL))
		if err == nil {
			_ = conn.Close()
			return passed()
		}
		if !waiting.Sleep(within, settleStep) {
			p.run.lost(fmt.Errorf("after it was %s, it did not come back: %w", what, err))
			return incomplete("the service was %s, and did not come back", what)
		}
	}
}

// afterOutage retries an interrupted intent until the service is back and the attempt has settled, or Recovery is over.
// It sends at most outageTries requests.
func (p *probe) afterOutage(ctx context.Context, label string, in *intent) reply {
	patience := p.run.config.Recovery
	if patience <= 0 {
		patience = outagePatience
	}
	deadline, wait := time.Now().Add(patience), outagePause
	for range outageTries - 1 {
		got := p.send(ctx, label, in)
		if !p.away(got) && !p.comesToNoEnd(got) || time.Now().After(deadline) {
			return got
		}
		// With at most an eighth of the time between them, the last tries are few and far apart.
		wait = min(wait, patience/8)
		if !waiting.Sleep(ctx, max(wait, min(comeAgain(got), time.Until(deadline)))) {
			return got
		}
		wait *= 2
	}
	return p.send(ctx, label, in)
}

// away reports whether the service, or a proxy in front of it, is not back yet, or waits for an attempt that no longer
// exists.
func (p *probe) away(got reply) bool {
	if got.err != nil {
		return errors.Is(got.err, wire.ErrUnreachable) || errors.Is(got.err, wire.ErrTLS) ||
			errors.Is(got.err, wire.ErrCut) || errors.Is(got.err, wire.ErrTimeout)
	}
	return got.in(http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}
