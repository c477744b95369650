package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/web"
)

// formSecret is for tokens that nobody keeps.
const formSecret = "the secret of this measurement"

const formRules = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
    form: true
`

// benchForms compares pages and submissions: from the upstream directly, through
// a plain proxy, through a gateway without and with a rule for forms. One
// connection: what is compared is how long one person waits.
func benchForms(ctx context.Context, s *settings) (*table, error) {
	upstream := serve(formShop())
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		return nil, err
	}
	plain := serve(plainProxy(target))
	defer plain.Close()
	bare, endBare, err := formGateway(ctx, s, "bare.db", upstream.URL, "version: 1\n")
	if err != nil {
		return nil, err
	}
	defer endBare()
	guarded, endGuarded, err := formGateway(ctx, s, "forms.db", upstream.URL, formRules)
	if err != nil {
		return nil, err
	}
	defer endGuarded()

	doors := []door{
		{name: "direct", url: upstream.URL},
		{name: "plain ReverseProxy", url: plain.URL},
		{name: "gateway, no forms", url: bare},
		{name: "gateway, forms", url: guarded, guarded: true},
	}
	t := &table{title: "forms through the gateway on sqlite: one connection, browser, gateway and upstream on the same machine"}
	for _, size := range pageSizes() {
		own := *s
		own.least = size.least
		rows, err := compareDoors(ctx, &own, "GET a page of "+size.name, doors, func(v *visitor) func(context.Context) error {
			return func(ctx context.Context) error { return v.get(ctx, size.bytes) }
		})
		if err != nil {
			return nil, err
		}
		t.rows = append(t.rows, rows...)
	}
	doors[2].name, doors[2].keyed = "gateway, a key", true // what a token is beside, once there is a record
	rows, err := compareDoors(ctx, s, "POST a form", doors, func(v *visitor) func(context.Context) error { return v.post })
	if err != nil {
		return nil, err
	}
	t.rows = append(t.rows, rows...)
	return t, nil
}

// formGateway starts a gateway with a store of its own.
func formGateway(ctx context.Context, s *settings, name, upstream, text string) (address string, end func(), err error) {
	file, err := rules.Parse("rules.yaml", []byte(text))
	if err != nil {
		return "", nil, err
	}
	store, err := sqlitestore.Open(ctx, filepath.Join(s.dir, name), nil)
	if err != nil {
		return "", nil, err
	}
	gw, err := gateway.New(&gateway.Config{
		Upstream: upstream, Store: store, Rules: file, MaxPageBytes: 64 << 20, FormSecrets: [][]byte{[]byte(formSecret)},
	})
	if err != nil {
		shut(store)
		return "", nil, err
	}
	front := serve(gw.Handler())
	return front.URL, func() { front.Close(); shut(gw); shut(store) }, nil
}

// formShop is an application with pages of every size and a form to send.
func formShop() http.Handler {
	pages := map[string][]byte{}
	for _, size := range pageSizes() {
		pages[strconv.Itoa(size.bytes)] = formPage(size.bytes)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page/{bytes}", func(w http.ResponseWriter, r *http.Request) {
		page := pages[r.PathValue("bytes")]
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page)
	})
	mux.HandleFunc("POST /invoices", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("amount") == "" || r.FormValue("_semel") != "" {
			http.Error(w, "no amount, or a token", http.StatusBadRequest)
			return
		}
		w.Header().Set("Location", "/invoices/1")
		w.WriteHeader(http.StatusSeeOther)
	})
	return mux
}

// door is one way to the shop.
type door struct {
	name, url string
	guarded   bool // its forms have tokens
	keyed     bool // submissions carry an Idempotency-Key instead
}

func compareDoors(ctx context.Context, s *settings, kind string, doors []door, do func(*visitor) func(context.Context) error) ([]row, error) {
	var subjects []subject
	for _, d := range doors {
		v, err := visit(ctx, d.url)
		if err != nil {
			return nil, err
		}
		defer v.client.CloseIdleConnections()
		if got, want := v.token != "", d.guarded; got != want {
			return nil, fmt.Errorf("%s: the form has a token = %v, want %v", d.name, got, want)
		}
		v.keyed = d.keyed
		one := do(v)
		subjects = append(subjects, subject{d.name, func(ctx context.Context, n int) error {
			return repeat(ctx, n, func() error { return one(ctx) })
		}})
	}
	samples, err := measure(ctx, s, subjects)
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, sub := range subjects {
		r := row{subject: kind + ", " + sub.name, time: nanosText(samples[i].nanos), allocs: allocsText(samples[i].allocs)}
		if i > 0 {
			r.against = fmt.Sprintf("%.2f× direct", samples[i].nanos/samples[0].nanos)
		}
		r.time += ", " + nanosText(samples[i].busy) + " of processor"
		if i > 1 {
			r.against += fmt.Sprintf(", %.2f× plain (%.2f× of processor), %+.0f µs", samples[i].nanos/samples[1].nanos, samples[i].busy/samples[1].busy, (samples[i].nanos-samples[1].nanos)/1e3)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// visitor is somebody with a browser, on one connection.
type visitor struct {
	client *http.Client
	url    string
	token  string // of the form, where the gateway put one into it
	keyed  bool
	serial atomic.Int64
}

func visit(ctx context.Context, address string) (*visitor, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	v := &visitor{url: address, client: &http.Client{
		Jar:           jar,
		Transport:     &http.Transport{MaxConnsPerHost: 1, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	var page bytes.Buffer
	if err := v.ask(ctx, http.MethodGet, "/page/"+strconv.Itoa(pageSizes()[0].bytes), nil, http.StatusOK, &page); err != nil {
		return nil, err
	}
	if found := regexp.MustCompile(`name="_semel" value="(sm1\.[^"]+)"`).FindSubmatch(page.Bytes()); found != nil {
		v.token = string(found[1])
	}
	return v, nil
}

func (v *visitor) get(ctx context.Context, size int) error {
	out := &tally{}
	if err := v.ask(ctx, http.MethodGet, "/page/"+strconv.Itoa(size), nil, http.StatusOK, out); err != nil {
		return err
	}
	if out.n < int64(size) {
		return fmt.Errorf("the page has %d bytes, want %d or more", out.n, size)
	}
	return nil
}

// post sends another amount every time: another intent of the same draft.
func (v *visitor) post(ctx context.Context) error {
	body := url.Values{"amount": {strconv.FormatInt(v.serial.Add(1), 10)}, "name": {"Ada & Sons"}, "csrf_token": {"abcdef"}}.Encode()
	if v.token != "" {
		body = "_semel=" + v.token + "&" + body
	}
	return v.ask(ctx, http.MethodPost, "/invoices", strings.NewReader(body), http.StatusSeeOther, io.Discard)
}

func (v *visitor) ask(ctx context.Context, method, path string, body io.Reader, want int, into io.Writer) error {
	r, err := http.NewRequestWithContext(ctx, method, v.url+path, body)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if v.keyed {
			r.Header.Set("Idempotency-Key", "bench-"+strconv.FormatInt(v.serial.Load(), 10))
		}
	}
	resp, err := v.client.Do(r)
	if err != nil {
		return err
	}
	defer shut(resp.Body)
	if _, err = io.Copy(into, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s: got status %d, want %d", method, v.url+path, resp.StatusCode, want)
	}
	return nil
}

// benchFormScripts weighs what a browser loads.
func benchFormScripts(context.Context, *settings) (*table, error) {
	t := &table{title: "client scripts, in bytes"}
	for _, name := range web.Names() {
		asset, ok := web.File(name)
		if !ok {
			return nil, fmt.Errorf("%s is listed, but not there", name)
		}
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		_, err = w.Write(asset.Content)
		if err := errors.Join(err, w.Close()); err != nil {
			return nil, err
		}
		t.rows = append(t.rows, row{subject: name, time: fmt.Sprintf("%d bytes", len(asset.Content)), allocs: fmt.Sprintf("%d bytes with gzip -9", packed.Len())})
	}
	return t, nil
}
