package faulty_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of transaction mode

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/faulty"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/examples/invoices"
	"github.com/semel-dev/semel/examples/invoices/protected"
	"github.com/semel-dev/semel/examples/mathematicians"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// ownServices returns further healthy services: Semel itself, in many of the ways to use it.
func ownServices(t *testing.T) []faulty.Service {
	t.Helper()
	return []faulty.Service{
		middleware("semelhttp", "Semel's middleware as it comes.", memory, semel.Policy{}, semelhttp.Options{}),
		middleware("semelhttp over SQLite", "The records are in a file.", file(t), semel.Policy{}, semelhttp.Options{}),
		middleware("semelhttp, keys required", "A request without a key is refused.", memory, semel.Policy{}, semelhttp.Options{Required: true}),
		middleware("semelhttp without waiting", "A duplicate of what runs is refused at once.", memory, semel.Policy{Wait: semel.NoWait}, semelhttp.Options{}),
		middleware("semelhttp, canonical JSON", "The order of members does not count.", memory, semel.Policy{},
			semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: true}}),
		middleware("semelhttp, failures stored", "A 5xx is an answer, and replayed.", memory, semel.Policy{}, semelhttp.Options{On5xx: semelhttp.StoreOn5xx}),
		profiled("dedup", middleware("semelhttp, dedup", "A duplicate is only stopped.", memory, semel.Policy{Dedup: true}, semelhttp.Options{})),
		changed(faulty.TwoMembers, middleware("semelhttp, two callers", "The scope is by caller.", memory, semel.Policy{}, semelhttp.Options{})),
		changed(func(c *check.Config) {
			c.Retention, c.Only = semelRetention, []string{"BASIC-01", "BASIC-02", "EXP"}
		}, middleware("semelhttp, expiring", "Records are kept for three seconds.", memory, semel.Policy{Retention: semelRetention}, semelhttp.Options{})),
		changed(func(c *check.Config) {
			faulty.Deliveries(c)
			c.Failing = nil
		}, middleware("semelhttp, webhooks", "The key is the id of a delivery, behind the signature; what it says does not count.", memory,
			semel.Policy{}, semelhttp.Options{
				Key: semelhttp.FromWebhookID(),
				Fingerprint: semelhttp.FingerprintOptions{Func: func(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
					return semel.FingerprintOf("delivery"), nil
				}},
			})),
		restarted(t), transaction(t),
		behindGateway("the gateway", "A rule for the header, before an application that does not know of it.",
			"key: {header: Idempotency-Key}", nil),
		behindGateway("the gateway, key in the body", "The key is a member of the JSON.", `key: {json_pointer: /request_id}`, func(c *check.Config) {
			c.Key = check.KeyPlace{In: "json", Name: "/request_id"}
		}),
		behindGateway("the gateway, key in a field", "The key is a field of the form.", "key: {form_field: request}\n    required: true", func(c *check.Config) {
			c.Template.Header = []wire.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}}
			c.Template.Body = []byte("number={{uuid}}&amount={{n}}")
			c.Key = check.KeyPlace{In: "form", Name: "request"}
			c.Failing, c.Invalid = nil, nil
		}),
		invoicesAPI(), mathematiciansAPI(t), invoicesPage(), invoicesBehindGateway(),
	}
}

// semelRetention is short, so that records expire during a test.
const semelRetention = 3 * time.Second

func changed(change func(*check.Config), service faulty.Service) faulty.Service {
	setup := service.Start
	service.Start = func() (faulty.Running, error) {
		running, err := setup()
		change(&running.Config)
		return running, err
	}
	return service
}

// restarted is the middleware over a file that a second guard reopens.
func restarted(t *testing.T) faulty.Service {
	t.Helper()
	open := file(t)
	return faulty.Service{Name: "semelhttp, restarted", Says: "The records are in a file, and the process is another one.", Start: func() (faulty.Running, error) {
		app := faulty.NewApp(faulty.Behaviour{Before: 20 * time.Millisecond, After: 10 * time.Millisecond})
		var broken error
		end := func() {}
		process := faulty.Serve(func(faulty.Life) http.Handler {
			end()
			records, err := open()
			if err != nil {
				broken = err
				return http.NotFoundHandler()
			}
			var handler http.Handler
			handler, end, broken = guarded(records, semel.Policy{}, semelhttp.Options{}, app)
			return handler
		})
		config := faulty.Ask(process.URL, "ietf", app)
		config.Restart = process.Restart
		return faulty.Running{Config: config, Close: func() { process.Close(); end() }}, broken
	}}
}

func profiled(name string, service faulty.Service) faulty.Service {
	return changed(func(c *check.Config) { c.Profile, _ = check.ProfileNamed(name) }, service)
}

// opened opens a store.
type opened func() (semel.Store, error)

func memory() (semel.Store, error) { return memstore.New(nil), nil }

func file(t *testing.T) opened {
	t.Helper()
	path := filepath.Join(t.TempDir(), "semel.db")
	return func() (semel.Store, error) { return sqlitestore.Open(context.WithoutCancel(t.Context()), path, nil) }
}

// guarded returns the middleware in front of a handler, and a function that closes both.
func guarded(store semel.Store, policy semel.Policy, options semelhttp.Options, app http.Handler) (http.Handler, func(), error) {
	guard, err := semel.New(store, &semel.Options{Policy: policy})
	if err != nil {
		return nil, nil, err
	}
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(func(r *http.Request) string {
		return "caller " + r.Header.Get("Authorization")
	}), &options)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", door.Handler(app))
	mux.Handle(semelhttp.DefaultPolicyURL, door.PolicyHandler())
	return mux, func() { _ = guard.Close(); _ = store.Close() }, nil
}

func middleware(name, says string, store opened, policy semel.Policy, options semelhttp.Options) faulty.Service {
	return faulty.Service{Name: name, Says: says, Start: func() (faulty.Running, error) {
		app := faulty.NewApp(faulty.Behaviour{Before: 20 * time.Millisecond, After: 10 * time.Millisecond})
		records, err := store()
		if err != nil {
			return faulty.Running{}, err
		}
		handler, end, err := guarded(records, policy, options, app)
		if options.Key != nil {
			handler = faulty.Signed(faulty.Secret(), handler)
		}
		return served(handler, end, app), err
	}}
}

// served returns a service whose process can neither be killed nor restarted.
func served(handler http.Handler, end func(), app *faulty.App) faulty.Running {
	process := faulty.Serve(func(faulty.Life) http.Handler { return handler })
	return faulty.Running{Config: faulty.Ask(process.URL, "ietf", app), Close: func() {
		process.Close()
		end()
	}}
}

// transaction returns the middleware whose records and orders commit together.
func transaction(t *testing.T) faulty.Service {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	return faulty.Service{Name: "semelhttp, one transaction", Says: "Order and record commit together.", Start: func() (faulty.Running, error) {
		ctx := context.WithoutCancel(t.Context())
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
		if err != nil {
			return faulty.Running{}, err
		}
		if _, err := db.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, number TEXT NOT NULL, amount INTEGER NOT NULL)"); err != nil {
			return faulty.Running{}, err
		}
		store, err := sqlitetx.Open(ctx, db, nil)
		if err != nil {
			return faulty.Running{}, err
		}
		handler, end, err := guarded(store, semel.Policy{}, semelhttp.Options{Transactor: store.Transactor(), Required: true}, http.HandlerFunc(insertOrder))
		running := served(handler, func() { end(); _ = db.Close() }, nil)
		running.Config.Counters = []check.Counter{table(db, "SELECT count(*) FROM orders")}
		return running, err
	}}
}

// table counts by a query.
func table(db *sql.DB, query string) rows {
	return rows{func(ctx context.Context) (n int64, err error) {
		err = db.QueryRowContext(ctx, query).Scan(&n)
		return n, err
	}}
}

// invoiceRows counts the invoices of an example.
func invoiceRows(app interface {
	Counts(ctx context.Context) (invoices.Counts, error)
},
) rows {
	return rows{func(ctx context.Context) (int64, error) {
		counts, err := app.Counts(ctx)
		return int64(counts.Invoices), err
	}}
}

// insertOrder writes in the transaction of its request.
func insertOrder(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/orders" {
		http.Error(w, "there is nothing here", http.StatusNotFound)
		return
	}
	var order struct {
		Number string
		Amount *int64
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 4<<20)).Decode(&order); err != nil || order.Number == "" || order.Amount == nil {
		http.Error(w, "not an order", http.StatusBadRequest)
		return
	}
	done, err := sqlitetx.TxFrom(r.Context()).ExecContext(r.Context(), "INSERT INTO orders (number, amount) VALUES (?, ?)", order.Number, *order.Amount)
	if err != nil {
		http.Error(w, "the database says no", http.StatusServiceUnavailable)
		return
	}
	id, _ := done.LastInsertId()
	if len(order.Number) > 5 && order.Number[:5] == "fail-" {
		http.Error(w, "the printer is on fire", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", id))
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%d}`, id)
}

// behindGateway returns the naive shop behind Semel's gateway with one rule.
func behindGateway(name, says, key string, change func(*check.Config)) faulty.Service {
	return faulty.Service{Name: name, Says: says, Start: func() (faulty.Running, error) {
		app := faulty.NewApp(faulty.Behaviour{Before: 20 * time.Millisecond, After: 10 * time.Millisecond})
		process := faulty.Serve(func(faulty.Life) http.Handler { return app })
		url, end, err := guardedByGateway(process.URL, "version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST, PATCH], path: \"/{rest...}\"}\n    "+key+"\n    scope: [{header: Authorization}, {constant: anyone}]\n")
		running := faulty.Running{Config: faulty.Ask(url, "ietf", app), Close: func() {
			end()
			process.Close()
		}}
		if change != nil {
			change(&running.Config)
		}
		return running, err
	}}
}

// guardedByGateway starts a gateway before an upstream. end waits until it has drained.
func guardedByGateway(upstream, text string) (url string, end func(), err error) {
	file, err := rules.Parse("semel.yaml", []byte(text))
	if err != nil {
		return "", func() {}, err
	}
	store := memstore.New(nil)
	g, err := gateway.New(&gateway.Config{Upstream: upstream, Store: store, Rules: file})
	if err != nil {
		return "", func() {}, err
	}
	front, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed by Serve.
	if err != nil {
		return "", func() {}, err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, front, nil) }()
	return "http://" + front.Addr().String(), func() {
		stop()
		<-done
		_ = store.Close()
	}, nil
}

// invoicesAPI returns the protected example, used by a program.
func invoicesAPI() faulty.Service {
	return faulty.Service{Name: "the protected example", Says: "The invoicing application that was protected by hand, with keys.", Start: func() (faulty.Running, error) {
		app, err := protected.Open("", nil)
		if err != nil {
			return faulty.Running{}, err
		}
		process := faulty.Serve(func(faulty.Life) http.Handler { return app.Handler() })
		config := faulty.Ask(process.URL, "ietf", invoiceRows(app))
		config.Template.URL = process.URL + "/api/invoices"
		config.Template.Body = []byte(`{"customer_id":1,"amount_cents":100,"currency":"SEK","note":"{{uuid}}"}`)
		config.Failing, config.Invalid = nil, nil
		return faulty.Running{Config: config, Close: func() { process.Close(); _ = app.Close() }}, nil
	}}
}

// rows is a counter by a function.
type rows struct {
	count func(context.Context) (int64, error)
}

func (rows) Name() string    { return "the rows" }
func (rows) PerIntent() bool { return false }
func (o rows) Count(ctx context.Context, _ func(string) string) (int64, error) {
	return o.count(ctx)
}

// mathematiciansAPI hands out the id of the resource to be created.
func mathematiciansAPI(t *testing.T) faulty.Service {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mathematicians.db")
	return faulty.Service{Name: "mathematicians", Says: "The id of a resource is handed out before, and sent with what creates it.", Start: func() (faulty.Running, error) {
		server, err := mathematicians.Open(path, nil)
		if err != nil {
			return faulty.Running{}, err
		}
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
		if err != nil {
			return faulty.Running{}, err
		}
		process := faulty.Serve(func(faulty.Life) http.Handler { return server })
		config := faulty.Ask(process.URL, "resource", table(db, "SELECT count(*) FROM mathematicians"))
		config.Template.URL = process.URL + "/api/mathematicians"
		config.Template.Body = []byte(`{"unique":"{{minted}}","name":{"firstName":"Emmy","lastName":"{{n}}"}}`)
		config.Level = check.LevelShould // it publishes nothing, and marks nothing
		config.Mint = &check.Mint{Template: check.Template{Method: "GET", URL: process.URL + "/api/mathematicians/new"}, Pointer: "/unique"}
		config.Failing, config.Invalid = nil, nil
		return faulty.Running{Config: config, Close: func() { process.Close(); _ = db.Close(); _ = server.Close() }}, nil
	}}
}

// invoicesPage returns the protected example, used by a browser.
func invoicesPage() faulty.Service {
	return faulty.Service{Name: "the protected example's page", Says: "The same application, by its form.", Start: func() (faulty.Running, error) {
		app, err := protected.Open("", nil)
		if err != nil {
			return faulty.Running{}, err
		}
		process := faulty.Serve(func(faulty.Life) http.Handler { return app.Handler() })
		return faulty.Running{
			Config: invoiceForm(process.URL, invoiceRows(app)),
			Close:  func() { process.Close(); _ = app.Close() },
		}, nil
	}}
}

// invoicesBehindGateway returns the naive example behind the gateway, which adds the token to its page.
func invoicesBehindGateway() faulty.Service {
	return faulty.Service{Name: "a page behind the gateway", Says: "A form of an application that does not know of Semel.", Start: func() (faulty.Running, error) {
		app, err := invoices.Open("", &invoices.Options{Latency: 20 * time.Millisecond})
		if err != nil {
			return faulty.Running{}, err
		}
		process := faulty.Serve(func(faulty.Life) http.Handler { return app.Handler() })
		url, end, err := guardedByGateway(process.URL, "version: 1\nroutes:\n  - name: invoices\n    match: {methods: [POST], path: /invoices}\n    form: true\n")
		return faulty.Running{
			Config: invoiceForm(url, invoiceRows(app)),
			Close:  func() { end(); process.Close(); _ = app.Close() },
		}, err
	}}
}

func invoiceForm(url string, counter check.Counter) check.Config {
	config := faulty.Ask(url, "form", counter)
	config.Template.URL = url + "/invoices"
	config.Template.Header = []wire.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}}
	config.Template.Body = []byte("customer_id=1&amount=100&currency=SEK&note={{uuid}}")
	config.Page = &check.Page{URL: url + "/invoices/new"}
	config.Failing, config.Invalid = nil, nil
	return config
}
