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

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/waiting"
)

// probe gives one check access to the service. It is safe for concurrent use.
type probe struct {
	run   *testRun
	check *Check

	mu        sync.Mutex // guards the fields below
	exchanges []Exchange
	replies   []reply // of the exchanges, in the order of their ends
	sent      int
	allowed   int
	// mayDie means that the check itself stops the service for a while.
	mayDie bool

	less atomic.Bool // fewer effects were counted than required
}

// change alters a request before it is sent.
type change func(*wire.Request)

// reply is the outcome of one request.
type reply struct {
	*wire.Answer // nil if none came

	err     error
	request *wire.Request // what was sent; nil if nothing was
	manner  wire.Manner   // in which it was sent
	lost    bool          // the way to the service loses answers
	of      *intent       // whose attempt it was; nil if the request belongs to none
}

// answered reports whether there is a whole answer that the client may see.
func (r reply) answered() bool { return r.err == nil && r.Answer != nil }

// fine reports whether the answer is a success: 2xx or 3xx.
func (r reply) fine() bool { return r.answered() && r.Status >= 200 && r.Status < 400 }

// taken reports whether the sender learns that the request has arrived: 2xx.
func (r reply) taken() bool { return r.answered() && r.Status >= 200 && r.Status < 300 }

// refused reports whether the answer is a refusal: 4xx.
func (r reply) refused() bool { return r.answered() && r.Status >= 400 && r.Status < 500 }

// failure reports whether the service says that it failed: 5xx.
func (r reply) failure() bool { return r.answered() && r.Status >= 500 }

// busy reports whether the answer only asks to come again later.
func (r reply) busy() bool { return r.in(http.StatusTooManyRequests, http.StatusServiceUnavailable) }

// judged passes if the answer settles something, unlike no answer or one that asks to come again later.
func (r reply) judged() finding {
	if !r.answered() || r.busy() {
		return incomplete("a request got %s", r)
	}
	return passed()
}

func (r reply) in(statuses ...int) bool { return r.answered() && slices.Contains(statuses, r.Status) }

// String describes a reply for reasons.
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

// request renders an attempt of the intent with its key and its user, applies the changes, and signs it if it is a
// webhook.
func (p *probe) request(in *intent, changes ...change) (*wire.Request, error) {
	return p.requestOf(&p.run.config.Template, in, changes...)
}

// requestOf is request for another template; it fills in the typed fields of a page's form.
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

func (p *probe) send(ctx context.Context, label string, in *intent, changes ...change) reply {
	return p.sendIn(ctx, label, wire.Manner{}, in, changes...)
}

func (p *probe) sendIn(ctx context.Context, label string, m wire.Manner, in *intent, changes ...change) reply {
	r, err := p.request(in, changes...)
	if err != nil {
		return reply{err: err}
	}
	got := p.deliver(ctx, label, in, r, &m)
	p.run.keepCookies(in, r, got.Answer)
	return got
}

// deliver sends a request of an intent as it is, counts it, and keeps it as evidence. After a 429 it waits for as long as
// the answer says and sends it once more.
func (p *probe) deliver(ctx context.Context, label string, in *intent, r *wire.Request, m *wire.Manner) reply {
	return p.deliverBy(ctx, &p.run.client, label, in, r, m)
}

// deliverBy is deliver with another client, such as one that uses a relay.
func (p *probe) deliverBy(ctx context.Context, client *wire.Client, label string, in *intent, r *wire.Request, m *wire.Manner) reply {
	for {
		if err := p.spend(); err != nil {
			return reply{err: err}
		}
		if err := p.run.pace.Wait(ctx); err != nil {
			return reply{err: err}
		}
		began := time.Now()
		answer, err := client.Do(ctx, r, m)
		got := reply{Answer: answer, err: err, request: r, manner: *m, of: in, lost: client.Dial != nil}
		p.keep(label, began, got)
		if errors.Is(err, wire.ErrUnreachable) || errors.Is(err, wire.ErrTLS) {
			p.lost(err)
		}
		if err == nil && answer.Status == http.StatusTooManyRequests && p.run.waitOut(ctx, answer) {
			p.mu.Lock()
			p.allowed++
			p.mu.Unlock()
			continue
		}
		return got
	}
}

// lost ends the run, unless the check itself stopped the service.
func (p *probe) lost(err error) {
	p.mu.Lock()
	away := p.mayDie
	p.mu.Unlock()
	if !away {
		p.run.lost(err)
	}
}

func (p *probe) spend() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent >= p.allowed {
		return errBudget
	}
	if err := p.run.spend(); err != nil {
		return err
	}
	p.sent++
	return nil
}

func (p *probe) keep(label string, began time.Time, got reply) {
	kept := Exchange{Label: label, Request: got.request.Clone(), Manner: got.manner, Answer: got.Answer, Began: began}
	if got.err != nil {
		kept.Error = got.err.Error()
	}
	kept.forget()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exchanges, p.replies = append(p.exchanges, kept), append(p.replies, got)
}

// together sends n requests at once, each as soon as it can go. [probe.volley] completes all at the same moment.
func (p *probe) together(n int, send func(i int) reply) []reply {
	replies := make([]reply, n)
	each(n, func(i int) { replies[i] = send(i) })
	return replies
}

// waitOut waits for as long as a 429 says, within reason and if spare requests are left.
func (s *testRun) waitOut(ctx context.Context, answer *wire.Answer) bool {
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
	s.addNote("The service answered 429, and requests were repeated after the wait that it asked for: a lower rate avoids this.")
	return waiting.Sleep(ctx, max(time.Second, wait))
}

func withBody(body []byte) change { return func(r *wire.Request) { r.Body = body } }

// withHeader replaces all lines of a header by one.
func withHeader(name, value string) change {
	return func(r *wire.Request) { r.Set(name, value) }
}

func withoutHeader(name string) change { return func(r *wire.Request) { r.Del(name) } }
