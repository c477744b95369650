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

	"github.com/semel-dev/semel/internal/check/wire"
)

const (
	// killRounds is at how many moments of a request the service is killed.
	killRounds = 3
	// outagePatience is how long a service may take to come back, and how long
	// one whose Recovery is not known may refuse what was interrupted.
	outagePatience = time.Minute
	// outageTries is the most that is sent to find out what became of an
	// interrupted attempt.
	outageTries = 20
	// outagePause is waited before the second of them.
	outagePause = 100 * time.Millisecond
)

func operations() []Check {
	return []Check{
		{
			ID: "OP-01", Group: groupOperation, Level: LevelMust, NeedsCount: true,
			Says:     "An answer survives a restart of the service.",
			Source:   "Semel promises 2 and 7",
			Advice:   "Keep keys and answers where the data is, in a database, and not in the memory of one process.",
			requests: sends(1 + outageTries),
			unfit:    wantsRestart, run: afterSample(survivesRestart),
		},
		{
			ID: "OP-02", Group: groupOperation, Level: LevelMust, NeedsCount: true,
			Says:     "A request in the middle of which the service is killed has one effect at most, whatever is retried.",
			Source:   "Semel promises 3 and 4",
			Advice:   "Commit the effect and the record of it in one transaction. Where that cannot be, do not run again what may have happened, but say that nobody knows.",
			requests: sends(killRounds * (1 + outageTries)),
			unfit:    wantsKill, run: afterSample(killedWithoutDouble),
		},
		{
			ID: "OP-03", Group: groupOperation, Level: LevelMust,
			Says:     "After the service was killed in the middle of a request, a retry gets an answer or a clear refusal.",
			Source:   "draft -07 §2.7; Semel promise 3",
			Advice:   "Hold a key by a lease that ends by itself soon after its holder died, not for as long as answers are kept; then execute, or refuse with a problem.",
			requests: sends(killRounds * (1 + outageTries)),
			unfit:    wantsKill, run: afterSample(killedWithAnswer),
		},
	}
}

func wantsRestart(c *Config) string {
	if c.Restart == nil {
		return "no command was given that restarts the service"
	}
	return ""
}

func wantsKill(c *Config) string {
	if c.Kill == nil {
		return "no command was given that kills the service and starts it again"
	}
	return ""
}

func survivesRestart(ctx context.Context, p *probe) finding {
	a, f := p.executed(ctx)
	if !f.ok() {
		return f
	}
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

// killedWithoutDouble kills the service at several moments of a request, and
// counts what came of it.
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
			return failed("%s; after the kill the last retry was answered %s", f.reason, last)
		case !f.ok():
			return f
		case !last.answered() || p.comesToNoEnd(last):
			return incomplete("one effect at most so far, but after the kill the last retry got %s: nobody can tell what becomes of it", last)
		case !last.fine():
			remark = passedBut("what a kill interrupts is answered %s", last)
		}
	}
	return remark
}

// killedWithAnswer kills the service at several moments of a request, and looks
// what the client is told.
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

// clear says whether the client knows what to do after the last answer that a
// kill left to it.
func (p *probe) clear(last reply) finding {
	switch {
	case last.fine(), p.refusedDuplicate(last):
		return passed()
	case errors.Is(last.err, wire.ErrUnreachable), errors.Is(last.err, wire.ErrTimeout) && p.run.config.Recovery <= 0:
		return incomplete("after the kill a retry got %s", last)
	case !last.answered():
		return failed("after the kill a retry got %s", last)
	case p.comesToNoEnd(last) && p.run.config.Recovery > 0:
		return failed("a retry is still refused by %s when the service should have recovered, %s after the kill", last, p.run.config.Recovery)
	case p.comesToNoEnd(last):
		return incomplete("a retry is still refused by %s a minute after the kill: say with --recovery how long the service may take", last)
	case last.failure():
		return failed("after the kill a retry is answered %s", last)
	case len(last.Body) == 0 && last.Header.Get("Link") == "":
		return failed("after the kill a retry is refused by %s, without a word why", last)
	}
	return passedBut("what a kill interrupts is refused by %s", last)
}

// killDuring kills the service while it works on the intent, a part of its usual
// time after the connection was made; a fast one may be done by then, which is a
// fair case, too. The reply is the last that retries got.
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
	pause(ctx, p.usual()*time.Duration(round+1)/(killRounds+1)) // if it ends early, so does what follows
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

// takeAway runs what takes the service away, and waits until something listens
// again at its address.
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
		if !pause(within, settleStep) {
			p.run.lost(fmt.Errorf("after it was %s, it did not come back: %w", what, err))
			return incomplete("the service was %s, and did not come back", what)
		}
	}
}

// afterOutage retries what was interrupted, until the service is there and
// the attempt settled, or Recovery is over. That makes outageTries requests at
// most.
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
		// An eighth of the time leaves the last tries well apart, and few.
		wait = min(wait, patience/8)
		if !pause(ctx, max(wait, min(comeAgain(got), time.Until(deadline)))) {
			return got
		}
		wait *= 2
	}
	return p.send(ctx, label, in)
}

// away reports whether the service, or what stands before it, is not back yet,
// or waits for an attempt that is no more.
func (p *probe) away(got reply) bool {
	if got.err != nil {
		return errors.Is(got.err, wire.ErrUnreachable) || errors.Is(got.err, wire.ErrTLS) ||
			errors.Is(got.err, wire.ErrCut) || errors.Is(got.err, wire.ErrTimeout)
	}
	return got.in(http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}
