package check

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/check/wire"
)

// probe is what one check works with. It is safe for concurrent use.
type probe struct {
	run   *session
	check *Check

	mu        sync.Mutex // guards the fields below
	exchanges []Exchange
	sent      int
	allowed   int
	// mayDie says that the check itself takes the service away for a while.
	mayDie bool

	less atomic.Bool // fewer effects were counted than there had to be
}

// change alters a request before it is sent.
type change func(*wire.Request)

// reply is what became of one request.
type reply struct {
	*wire.Answer // nil if none came

	err     error
	request *wire.Request // what was sent; nil if nothing was
}

// answered reports whether there is a whole answer, that the client may see.
func (r reply) answered() bool { return r.err == nil && r.Answer != nil }

// fine reports whether the answer is a success: 2xx or 3xx.
func (r reply) fine() bool { return r.answered() && r.Status >= 200 && r.Status < 400 }

// taken reports whether the sender hears that the request has arrived: 2xx.
func (r reply) taken() bool { return r.answered() && r.Status >= 200 && r.Status < 300 }

// refused reports whether the answer is a refusal: 4xx.
func (r reply) refused() bool { return r.answered() && r.Status >= 400 && r.Status < 500 }

// failure reports whether the service says that it failed: 5xx.
func (r reply) failure() bool { return r.answered() && r.Status >= 500 }

// busy reports whether the answer only says to come again later.
func (r reply) busy() bool { return r.in(http.StatusTooManyRequests, http.StatusServiceUnavailable) }

// judged is a pass where the answer says something. No answer, and one that says
// to come again later, leave everything open.
func (r reply) judged() finding {
	if !r.answered() || r.busy() {
		return incomplete("a request was answered %s", r)
	}
	return passed()
}

// in reports whether the answer has one of the statuses.
func (r reply) in(statuses ...int) bool { return r.answered() && slices.Contains(statuses, r.Status) }

// String is how reasons speak of a reply.
func (r reply) String() string {
	switch {
	case r.err != nil:
		return "no answer (" + r.err.Error() + ")"
	case r.Answer == nil:
		return "no answer"
	}
	text := strconv.Itoa(r.Status)
	if name := http.StatusText(r.Status); name != "" {
		text += " " + name
	}
	return text
}

// request renders an attempt of the intent, with its key and its user, makes the
// changes, and signs the whole where it is a webhook.
func (p *probe) request(in *intent, changes ...change) (*wire.Request, error) {
	return p.requestOf(&p.run.config.Template, in, changes...)
}

// requestOf is request for another template; of a page's form it fills in the
// fields that are typed.
func (p *probe) requestOf(t *Template, in *intent, changes ...change) (*wire.Request, error) {
	p.run.books.forget(in)
	r, err := t.fill(in.values)
	if err != nil {
		return nil, err
	}
	if in.draft != nil {
		if err := in.submit(&r, t); err != nil {
			return nil, err
		}
	}
	if in.body != nil {
		r.Body = bytes.Clone(in.body)
	}
	if in.url != nil {
		at := *in.url
		r.URL = &at
	}
	for _, f := range in.header {
		r.Set(f.Name, in.values.Fill(f.Value))
	}
	if in.loggedOut {
		p.run.anonymise(&r)
	} else {
		identify(&r, in.user, in.values)
		setCookies(&r, in.cookies)
	}
	if err := p.run.config.Key.put(&r, in.key); err != nil {
		return nil, err
	}
	for _, change := range changes {
		change(&r)
	}
	if p.run.config.Profile.Webhook {
		p.run.config.sign(&r, time.Now())
	}
	return &r, nil
}

// send is an attempt of the intent that is sent whole.
func (p *probe) send(ctx context.Context, label string, in *intent, changes ...change) reply {
	return p.sendIn(ctx, label, wire.Manner{}, in, changes...)
}

// sendIn is an attempt that is sent in that manner.
func (p *probe) sendIn(ctx context.Context, label string, m wire.Manner, in *intent, changes ...change) reply {
	r, err := p.request(in, changes...)
	if err != nil {
		return reply{err: err}
	}
	got := p.deliver(ctx, label, r, &m)
	p.run.keepCookies(in, r, got.Answer)
	return got
}

// deliver sends a request as it is, counts it, and keeps it as evidence. Where
// the service says 429 it waits as long as it is told, and sends once more.
func (p *probe) deliver(ctx context.Context, label string, r *wire.Request, m *wire.Manner) reply {
	return p.deliverBy(ctx, &p.run.client, label, r, m)
}

// deliverBy is deliver over another client, such as one that goes by a relay.
func (p *probe) deliverBy(ctx context.Context, client *wire.Client, label string, r *wire.Request, m *wire.Manner) reply {
	for {
		if err := p.take(); err != nil {
			return reply{err: err}
		}
		if err := p.run.pace.Wait(ctx); err != nil {
			return reply{err: err}
		}
		began := time.Now()
		answer, err := client.Do(ctx, r, m)
		p.keep(label, began, r, m, answer, err)
		if errors.Is(err, wire.ErrUnreachable) || errors.Is(err, wire.ErrTLS) {
			p.lost(err)
		}
		if err == nil && answer.Status == http.StatusTooManyRequests && p.run.waitOut(ctx, answer) {
			p.mu.Lock()
			p.allowed++
			p.mu.Unlock()
			continue
		}
		return reply{answer, err, r}
	}
}

// lost ends the run, unless the service is away because of the check.
func (p *probe) lost(err error) {
	p.mu.Lock()
	away := p.mayDie
	p.mu.Unlock()
	if !away {
		p.run.lost(err)
	}
}

func (p *probe) take() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent >= p.allowed {
		return errBudget
	}
	if err := p.run.take(); err != nil {
		return err
	}
	p.sent++
	return nil
}

func (p *probe) keep(label string, began time.Time, r *wire.Request, m *wire.Manner, answer *wire.Answer, err error) {
	kept := Exchange{Label: label, Request: r.Clone(), Manner: *m, Answer: answer, Began: began}
	if err != nil {
		kept.Error = err.Error()
	}
	kept.forget()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exchanges = append(p.exchanges, kept)
}

// together sends n requests at once, each as soon as it can go. Where all have
// to be complete in the same moment, there is [probe.volley].
func (p *probe) together(n int, send func(i int) reply) []reply {
	replies := make([]reply, n)
	each(n, func(i int) { replies[i] = send(i) })
	return replies
}

// waitOut waits as long as a 429 says, if that is within reason and the spare
// requests are not used up.
func (s *session) waitOut(ctx context.Context, answer *wire.Answer) bool {
	wait, ok := retryAfter(answer.Header)
	if !ok || wait > maxRetryAfter {
		return false
	}
	s.mu.Lock()
	s.spared++
	enough := s.spared > spare
	s.mu.Unlock()
	if enough {
		return false
	}
	s.note("The service answered 429, and was asked again when it had said so: a lower rate spares both sides that.")
	return pause(ctx, max(time.Second, wait))
}

// withBody replaces the body.
func withBody(body []byte) change { return func(r *wire.Request) { r.Body = body } }

// withHeader replaces all lines of a header by one.
func withHeader(name, value string) change {
	return func(r *wire.Request) { r.Set(name, value) }
}

// withoutHeader removes a header.
func withoutHeader(name string) change { return func(r *wire.Request) { r.Del(name) } }
