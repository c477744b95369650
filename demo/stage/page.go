package stage

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/internal/must"
)

//go:embed page
var pageFiles embed.FS

const (
	contentPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
	// keepAlive is the interval of signs of life on a page without news.
	keepAlive = 15 * time.Second
	// maxSettingBytes bounds a form of the page.
	maxSettingBytes = 4 << 10
)

// pageView is the data of the page's template.
type pageView struct {
	State        state
	Copies       []copyView
	ProtectedURL string
	ConsoleURL   string
	Token        string // with which the visitor logs in there
	Rules        []string
	Emptied      bool
}

// copyView is the data of one column in the page's template: of a copy, or of two that share the settings of their network.
type copyView struct {
	Name, Class, Symbol string
	Title, Form         string // the heading, and the copy whose form the link opens
	Means               string
	Ways                []wayView
	Network             networkState
	Conditions          []conditionView
	Changed             bool // the visitor has just set its network
}

// wayView is a copy of a column: its page and its counts.
type wayView struct {
	Name, Class, Title string // a column with one copy has its title
	Open, Form         string // the text of the link
	URL, Path          string
	Counts             sideState
	Resent             int
}

// conditionView is a choice of the network's form.
type conditionView struct {
	Value  condition
	Label  string
	Chosen bool
}

// pageHandler serves the page and its files.
func (d *Demo) pageHandler() http.Handler {
	page := must.Get(template.ParseFS(pageFiles, "page/index.html"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { d.servePage(w, r, page) })
	for name, mediaType := range map[string]string{
		"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		text := must.Get(pageFiles.ReadFile("page/" + name))
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			_, _ = w.Write(text) // the browser may be gone
		})
	}
	mux.HandleFunc("GET /state", d.serveState)
	mux.HandleFunc("GET /events", d.serveEvents)
	mux.HandleFunc("POST /reset", d.serveReset)
	mux.HandleFunc("POST /network", d.serveNetwork)
	sameOrigin := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", contentPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send Origin: null with a form
		header.Set("Cache-Control", "no-store")
		sameOrigin.ServeHTTP(w, r)
	})
}

func (d *Demo) servePage(w http.ResponseWriter, r *http.Request, page *template.Template) {
	now, err := d.state(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	view := pageView{
		State: now, Rules: []string{string(rulesFile), string(scriptRulesFile)}, Emptied: r.URL.Query().Has("emptied"),
		Copies: d.copyViews(r, &now), ProtectedURL: besides(r, d.protected.site),
		ConsoleURL: besides(r, d.console) + console.Path, Token: d.protected.gate.token,
	}
	var text bytes.Buffer
	if err := page.Execute(&text, view); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // the browser may be gone
}

// copyViews returns the copies in the order of the page.
func (d *Demo) copyViews(r *http.Request, now *state) []copyView {
	shown := []copyView{
		{
			Name: "unprotected", Class: "bare", Symbol: "!", Title: "Unprotected", Form: "the unprotected copy",
			Means: "The unchanged application.", Ways: []wayView{{Counts: now.Unprotected}},
		},
		{
			Name: "guarded", Class: "guarded", Symbol: "½", Title: "Script only", Form: "the copy with the script only",
			Means: "One script in its pages, nothing on the server.", Ways: []wayView{{Counts: now.Guarded}},
		},
		{
			Name: "protected", Class: "kept", Symbol: "✓", Title: "Behind semel gateway", Form: "the protected copy",
			Means: "The unchanged application; the gateway adds field and script.", Ways: []wayView{{Counts: now.Protected}},
		},
		{
			Name: "scripts", Class: "scripts", Symbol: "ƒ", Title: "A page without forms", Form: "the copies without forms",
			Means: "Its button sends with fetch.",
			Ways: []wayView{
				{Name: "scripts", Class: "scripts", Title: "Alone", Open: "Open the page", Form: "the copy without forms, alone", Path: "/quick", Counts: now.Scripts},
				{Name: "paged", Class: "paged", Title: "With page: true", Open: "Open the page", Form: "the copy without forms, with page: true", Path: "/quick", Counts: now.Paged},
			},
		},
	}
	for i := range shown {
		c := &shown[i]
		c.Network = now.Networks[c.Name]
		if len(c.Ways) == 1 {
			w := &c.Ways[0]
			w.Name, w.Class, w.Title, w.Open, w.Form, w.Path = c.Name, c.Class, c.Title, "Open the form", c.Form, "/invoices/new"
		}
		for j := range c.Ways {
			w := &c.Ways[j]
			w.URL, w.Resent = besides(r, d.copies()[w.Name].site), now.Networks[w.Name].Resent
		}
		c.Changed = r.URL.Query().Get("network") == c.Name
		for _, one := range conditions(c.Name == "protected") {
			c.Conditions = append(c.Conditions, conditionView{one, one.label(), one == c.Network.Condition})
		}
	}
	return shown
}

// label describes the network's effect.
func (c condition) label() string {
	switch c {
	case netNormal:
		return "working normally"
	case netDelay:
		return "slow"
	case netLoseAnswer:
		return "loses the answer"
	case netDropRequest:
		return "loses the request"
	case netCloseReused:
		return "makes the browser resend"
	case netLoseInside:
		return "loses the application's answer to the gateway"
	}
	return string(c)
}

// besides returns the URL of another site of this demo on the host by which the visitor reached this one.
func besides(r *http.Request, other *site) string {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return "http://" + net.JoinHostPort(host, other.port())
}

func (d *Demo) serveState(w http.ResponseWriter, r *http.Request) {
	now, err := d.stateText(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(now) // the browser may be gone
}

func (d *Demo) stateText(ctx context.Context) ([]byte, error) {
	now, err := d.state(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(now)
}

// serveEvents sends the state now and after every change, until the browser
// leaves or the demo ends.
func (d *Demo) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	var last []byte
	for {
		changed := d.news.listen()
		now, err := d.stateText(r.Context())
		if err != nil {
			return // the browser reconnects
		}
		line := "data: " + string(now) + "\n\n"
		if bytes.Equal(now, last) {
			line = ": still here\n\n"
		}
		if _, err := fmt.Fprint(w, line); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		last = now
		select {
		case <-changed:
		case <-alive.C:
		case <-r.Context().Done():
			return
		}
	}
}

func (d *Demo) serveReset(w http.ResponseWriter, r *http.Request) {
	if err := d.Reset(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	http.Redirect(w, r, "/?emptied", http.StatusSeeOther)
}

// serveNetwork sets the network of one copy.
func (d *Demo) serveNetwork(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSettingBytes)
	name := r.PostFormValue("copy")
	s, known := d.copies()[name]
	if !known {
		http.Error(w, fmt.Sprintf("unknown copy %q", name), http.StatusBadRequest)
		return
	}
	wanted := weather{condition: condition(r.PostFormValue("condition")), delay: defaultDelay}
	if text := r.PostFormValue("delay_ms"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			http.Error(w, fmt.Sprintf("%q is not a delay in milliseconds", text), http.StatusBadRequest)
			return
		}
		wanted.delay = time.Duration(ms) * time.Millisecond
	}
	if err := wanted.check(s.gate != nil); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.net.set(wanted)
	if s == d.scripts { // one column, one setting
		d.paged.net.set(wanted)
	}
	d.news.notify()
	http.Redirect(w, r, "/?network="+name+"#"+name, http.StatusSeeOther) //nolint:gosec // a name from our list.
}
