package console

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/dedupe"
)

// Path begins the paths of all pages.
const Path = "/console/"

const (
	// maxFormBytes bounds what a form may send besides the body of an answer.
	maxFormBytes = 64 << 10
	// pageTimeout bounds the work for one page.
	pageTimeout = 30 * time.Second

	policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

//go:embed templates console.css console.js icon.svg
var files embed.FS

// Options are the settings of a [Console].
type Options struct {
	// API lets operators in, and bounds wrong tokens.
	API *adminapi.API
	// AuditRetention is the time for which verdicts are remembered. Default 365 days.
	AuditRetention time.Duration
	// Database is the application's own, for the pages of its outbox and of merged duplicates. nil for none.
	Database *dedupe.Database
	// OutboxTable is the name of the outbox's table in it. Default semel_outbox.
	OutboxTable string
	// Logger gets a line for every verdict. Default: none.
	Logger *slog.Logger
	// History has the counts of this process; nil when it serves no requests.
	History *History
	// Repeats has the repetitions that this process has met. nil when it serves no requests: pages then show none.
	Repeats *outcomelog.Repeats
	// Routes are those of a gateway. Default: the page says that there are none.
	Routes []Route
	// Scripts returns the counts of the routes with page, by name; nil for none.
	Scripts func() map[string]ScriptCounts
	// Rules has the uniqueness rules; nil for none. Where Database is set as well, an operator can compare the two.
	Rules *rules.File
	// Settings are the configuration of the process, without the values of secrets. Default: they are not shown.
	Settings []Setting
	// LiveClaims is the bound of the guard's claims, to be shown. Default: it is not shown.
	LiveClaims int
	// Prometheus is the address of the page that shows all processes. Default: none.
	Prometheus string
	// OutcomeLog is searched on a page of its own. nil when no log is kept.
	OutcomeLog *archive.Archive
	// Done ends the pages' event streams when it is closed. Default: only their readers do.
	Done <-chan struct{}
}

// Console is an [http.Handler] for paths that begin with [Path]. It is safe for concurrent use, and needs no closing. Make
// one with [New].
type Console struct {
	guard    *semel.Guard
	records  *operator.Records
	api      *adminapi.API
	database *dedupe.Database // nil for none
	outboxes string           // the outbox's table in it
	log      *slog.Logger
	since    time.Time
	sessions *sessions
	origin   *http.CrossOriginProtection
	pages    *template.Template
	mux      *http.ServeMux

	kept       *archive.Archive    // nil for none
	history    *History            // may be nil
	repeats    *outcomelog.Repeats // may be nil
	readers    readers
	waiting    counted // what needs an operator
	done       <-chan struct{}
	routes     []Route
	scripts    func() map[string]ScriptCounts // may be nil
	rules      *rules.File                    // nil for none
	verified   verification
	settings   []Setting
	bound      int
	prometheus string
}

var _ http.Handler = (*Console)(nil)

// New returns the console over the guard's records: use the guard of the service itself, because keys are found with its
// secret only. The store must be a [semel.Lister].
func New(guard *semel.Guard, o Options) (*Console, error) {
	if guard == nil || o.API == nil {
		return nil, errors.New("console: guard or API is nil")
	}
	if _, ok := semel.StoreAs[semel.Lister](guard.Store()); !ok {
		return nil, errors.New("console: this store cannot show its records")
	}
	records, err := operator.New(guard, &operator.Options{AuditRetention: o.AuditRetention})
	if err != nil {
		return nil, err
	}
	c := &Console{
		guard: guard, records: records, api: o.API, database: o.Database, outboxes: o.OutboxTable, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), since: time.Now(),
		sessions: newSessions(o.API.Knows), origin: http.NewCrossOriginProtection(),
		pages:   must.Get(template.New("").Funcs(functions()).ParseFS(files, "templates/*.html")),
		history: o.History, repeats: o.Repeats, done: o.Done, bound: o.LiveClaims, prometheus: o.Prometheus,
		kept: o.OutcomeLog, routes: o.Routes, scripts: o.Scripts, rules: o.Rules, settings: o.Settings,
	}
	c.mux = c.serves()
	return c, nil
}

func (c *Console) serves() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /console/console.css", static("console.css", "text/css"))
	mux.HandleFunc("GET /console/console.js", static("console.js", "text/javascript"))
	mux.HandleFunc("GET /console/icon.svg", static("icon.svg", "image/svg+xml"))
	if c.history != nil {
		mux.HandleFunc("GET /console/live", c.live)
	}
	mux.HandleFunc("POST /console/login", c.logIn)
	mux.HandleFunc("POST /console/logout", c.logOut)
	mux.HandleFunc("GET /console/{$}", c.known(c.overview))
	mux.HandleFunc("GET /console/records", c.known(c.list))
	mux.HandleFunc("GET /console/find", c.known(c.find))
	mux.HandleFunc("GET /console/next", c.known(c.next))
	c.withForm(mux, "/console/unknown", c.unknown, c.settleMany)
	mux.HandleFunc("GET /console/audit", c.known(c.audit))
	c.withForm(mux, "/console/records/{digest}", c.record, c.settle)
	mux.HandleFunc("GET /console/flows", c.known(c.flows))
	mux.HandleFunc("GET /console/quarantine", c.known(c.quarantine))
	mux.HandleFunc("GET /console/quarantine/next", c.known(c.nextMessage))
	c.withForm(mux, "/console/quarantine/{digest}", c.message, c.decideMessage)
	mux.HandleFunc("GET /console/outbox", c.known(c.outbox))
	c.withForm(mux, "/console/outbox/held", c.held, c.decideHeld)
	mux.HandleFunc("GET /console/duplicates", c.known(c.duplicates))
	c.withForm(mux, "/console/duplicates/{run}", c.showRun, c.undo)
	c.withForm(mux, "/console/rules", c.rulesPage, c.verify)
	mux.HandleFunc("GET /console/log", c.known(c.outcomes))
	mux.HandleFunc("GET /console/settings", c.known(c.settingsPage))
	mux.HandleFunc(Path, c.known(func(k *call) {
		c.missing(k, "This page does not exist", "The address may be mistyped.")
	}))
	return mux
}

// IsLink reports whether [Options.Prometheus] can be this: an address of HTTP without credentials.
func IsLink(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// static serves an embedded file, to browsers that are not logged in as well.
func static(name, kind string) http.HandlerFunc {
	text := must.Get(files.ReadFile(name))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		w.Header().Set("Cache-Control", "max-age=300")
		_, _ = w.Write(text) // the reader may have gone
	}
}

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send Origin: null with a form
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	defer func() { //nolint:contextcheck // the request has it.
		if cause := recover(); cause != nil {
			c.log.LogAttrs(r.Context(), slog.LevelError, "a page of the console panicked", slog.String("panic", fmt.Sprint(dialect.DiscreetPanic(cause))), slog.String("stack", string(debug.Stack())))
			http.Error(w, "This page has failed. The log says why.", http.StatusInternalServerError)
		}
	}()
	if err := c.origin.Check(r); err != nil {
		http.Error(w, "Nothing was done: this form was not sent by a page of this console.", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, int64(maxFormBytes+3*c.guard.Policy().MaxOutcomeBytes))
	c.mux.ServeHTTP(w, r)
}

// call is a request of an operator that is logged in.
type call struct {
	*http.Request

	session operatorSession
	w       http.ResponseWriter
	form    form
	kept    []dedupe.Kept // rows that an undo left as they are
	results []result      // of a form about many records
}

// known calls work for an operator that is logged in, and shows others the form to log in.
func (c *Console) known(work func(*call)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if k, ok := r.Context().Value(resumedKey{}).(*call); ok {
			k.Request, k.w = r, w
			work(k)
			return
		}
		one, ok := c.sessions.of(r)
		if !ok {
			c.askToLogIn(w, r, http.StatusUnauthorized, loginPage{})
			return
		}
		work(&call{Request: r, session: one, w: w})
	}
}

// frame surrounds the contents of every page.
type frame struct {
	Title    string
	Operator string // of the session; "" before the log-in
	ReadOnly bool
	Form     string // the session's token for forms
	At       string // the part of the console
	Nav      navigation
	Page     any
}

// show writes a page.
func (c *Console) show(k *call, status int, name, title string, page any) {
	nav := c.navigation(k.Context(), k.Host)
	c.write(k.w, k.Request, status, name, frame{Title: title, Operator: k.session.Name, ReadOnly: k.session.ReadOnly, Form: k.session.form, At: name, Nav: nav, Page: page})
}

// failurePage says why a page is not shown, and keeps what was typed into its form.
type failurePage struct {
	form

	Text, Action string
	Kept         []header // the fields of the form that are not empty, in the order of their names
}

// missing says that what a page is about does not exist.
func (c *Console) missing(k *call, title, why string) {
	c.show(k, http.StatusNotFound, "message", title, failurePage{Text: why})
}

// fail says that the page's data cannot be read now, and offers what was typed to be sent again.
func (c *Console) fail(k *call, title, why string) {
	p := failurePage{form: k.form, Text: why, Action: k.URL.RequestURI()}
	if p.Problem == "" {
		p.Text = "Nothing was changed. " + why
	}
	for _, name := range slices.Sorted(maps.Keys(k.form.Typed)) {
		if value := k.form.Typed.Get(name); value != "" && name != fieldForm && !k.session.ReadOnly {
			p.Kept = append(p.Kept, header{name, value})
		}
	}
	c.show(k, http.StatusServiceUnavailable, "message", title, p)
}

func (c *Console) write(w http.ResponseWriter, r *http.Request, status int, name string, f frame) {
	var page bytes.Buffer
	if err := c.pages.ExecuteTemplate(&page, name+".html", f); err != nil {
		c.log.LogAttrs(r.Context(), slog.LevelError, "a page of the console cannot be drawn", slog.String("page", name), slog.String("error", err.Error()))
		http.Error(w, "This page cannot be drawn. The log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the reader may have gone
}
