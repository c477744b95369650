package transaction_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/semelhttp"
)

// place is everything that can be inside of something else, over one database.
type place struct {
	*database

	guard    *semel.Guard
	web      *semelhttp.Middleware
	messages *inbox.Inbox
	out      *outbox.Outbox
	flows    *flow.Flows
	def      *flow.Definition[string, string]

	works sync.Map // of the flows' steps, by their input
}

func openPlace(t *testing.T, d *database) *place {
	t.Helper()
	p := &place{database: d}
	_, err := d.pool.ExecContext(t.Context(), createEffects)
	must(t, err)
	must(t, (&dbguard.Dedup{}).Create(t.Context(), d.session(t.Context())))
	p.out, err = outbox.Open(t.Context(), d.pool, nil)
	must(t, err)
	p.guard, err = semel.New(d.store, &semel.Options{Policy: semel.Policy{Wait: time.Minute}}) // what waits for itself is seen to
	must(t, err)
	t.Cleanup(func() { _, _ = p.guard.Close(), d.store.Close() })
	p.web, err = semelhttp.New(p.guard, semelhttp.ScopeBy(func(*http.Request) string { return "matrix" }), &semelhttp.Options{Transactor: d.transactor, Required: true})
	must(t, err)
	p.messages, err = inbox.New(p.guard, &inbox.Options{Consumer: "matrix", Redelivery: time.Hour})
	must(t, err)
	p.def = flow.Define("buy", func(r *flow.Run, name string) (string, error) {
		return flow.Tx(r, "effect", name, func(ctx context.Context, name string) (string, error) {
			w, ok := p.works.Load(name)
			if !ok {
				return "", errors.New("no call asked for it")
			}
			return name, w.(work)(ctx) //nolint:forcetypeassert // nothing else is stored.
		})
	})
	p.flows, err = flow.New(p.guard, &flow.Options{Transactor: d.transactor, Background: &operator.Unattended{Every: time.Hour}}, p.def)
	must(t, err)
	return p
}

func keyOf(name string) semel.Key { return semel.Key{Scope: "matrix", Name: name} }

// door is one way to make an effect happen once. Its error says that it is not done.
type door struct {
	name string
	call func(p *place, ctx context.Context, name string, w work) error
	// statement: the effect is a statement rather than the work, which only says that it is to fail.
	statement bool
	// undoes: what failed work has written is undone.
	undoes bool
	// breaks: its error is to roll back the transaction around it.
	breaks bool
	// among: the databases that have it; nil for all.
	among func(*database) bool
}

func doors() []door {
	return []door{
		{name: "`semel.Do`", call: func(p *place, ctx context.Context, name string, w work) error {
			_, err := semel.Do(ctx, p.guard, keyOf(name), semel.Fingerprint{}, intent(w))
			return err
		}},
		{name: "`semel.DoTx`", undoes: true, call: func(p *place, ctx context.Context, name string, w work) error {
			_, err := semel.DoTx(ctx, p.guard, p.transactor, keyOf(name), semel.Fingerprint{}, intent(w))
			return err
		}},
		{name: "`Do` of a store", undoes: true, call: func(p *place, ctx context.Context, name string, w work) error {
			return p.do(ctx, p.guard, keyOf(name), w)
		}},
		{name: "`semelhttp.Options.Transactor`", undoes: true, call: (*place).post},
		{name: "`Join`", undoes: true, call: func(p *place, ctx context.Context, name string, w work) error {
			return p.join(ctx, p.guard, keyOf(name), w)
		}},
		{name: "`flow.Start`", undoes: true, call: func(p *place, ctx context.Context, name string, w work) error {
			p.works.Store(name, w)
			_, err := flow.Start(ctx, p.flows, p.def, keyOf(name), name)
			return err
		}},
		{name: "`flow.Accept`", undoes: true, call: func(p *place, ctx context.Context, name string, w work) error {
			p.works.Store(name, w)
			if err := flow.Accept(ctx, p.flows, p.def, keyOf(name), name); err != nil {
				return err
			}
			_, err := flow.Start(context.WithoutCancel(ctx), p.flows, p.def, keyOf(name), name) // waits for its end
			return err
		}},
		{name: "`inbox.HandleTx`", undoes: true, call: (*place).handleTx},
		{name: "`outbox.Add`", undoes: true, breaks: true, statement: true, call: func(p *place, ctx context.Context, name string, w work) error {
			m := outbox.Message{ID: name, Topic: "effects"}
			if w(ctx) != nil {
				m.Topic = "" // refused
			}
			return p.out.Add(ctx, p.handle(ctx), m)
		}},
		{name: "`Exec` of a store", undoes: true, statement: true, among: func(d *database) bool { return d.exec != nil }, call: func(p *place, ctx context.Context, name string, w work) error {
			return p.exec(ctx, p.guard, keyOf(name), p.statement(w(ctx)), inner(name))
		}},
		{name: "`Run` of a store", undoes: true, statement: true, among: func(d *database) bool { return d.run != nil }, call: func(p *place, ctx context.Context, name string, w work) error {
			return p.run(ctx, p.guard, keyOf(name), p.statement(w(ctx)), inner(name))
		}},
		{name: "`dbguard.Once`", undoes: true, breaks: true, call: func(p *place, ctx context.Context, name string, w work) error {
			_, _, err := dbguard.Once(ctx, &dbguard.Dedup{}, p.session(ctx), keyOf(name), semel.Fingerprint{}, intent(w))
			return err
		}},
	}
}

// inner and outer are the rows of an intent and of the one around it.
func inner(name string) string { return "inner " + name }
func outer(name string) string { return "outer " + name }

func (p *place) statement(fails error) string {
	if fails != nil {
		return brokenInsert
	}
	return p.insert
}

func (p *place) post(ctx context.Context, name string, w work) error {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
	r.Header.Set("Idempotency-Key", name)
	res := httptest.NewRecorder()
	p.web.Handler(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if err := w(r.Context()); err != nil {
			http.Error(to, err.Error(), http.StatusInternalServerError)
		}
	})).ServeHTTP(res, r)
	if res.Code != http.StatusOK {
		return errors.New(strings.TrimSpace(res.Body.String()))
	}
	return nil
}

func (p *place) handleTx(ctx context.Context, name string, w work) error {
	v := p.messages.HandleTx(ctx, p.transactor, inbox.Message{ID: name, Deliveries: 1}, func(ctx context.Context, _ inbox.Message) error { return w(ctx) })
	if v.Act != inbox.Ack {
		return v.Err
	}
	return nil
}

// holder is one way to be around something else. Its error says that it is not done.
type holder struct {
	name   string
	call   func(p *place, ctx context.Context, name string, w work) error
	undoes bool // its work has a transaction
}

func holders() []holder {
	all := doors()
	return []holder{
		{name: "nothing", call: func(_ *place, ctx context.Context, _ string, w work) error { return w(ctx) }},
		{name: "`semel.Do`", call: all[0].call},
		{name: "`semel.DoTx`", call: all[1].call, undoes: true},
		{name: "`Join`", call: all[4].call, undoes: true},
		{name: "a flow's `Tx` step", call: all[5].call, undoes: true},
		{name: "`inbox.HandleTx`", call: all[7].call, undoes: true},
	}
}
