package stage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxAnswerBytes bounds how much of an answer is read.
const maxAnswerBytes = 1 << 20

// player acts for all participants of one scenario on one side.
type player struct {
	on   *side
	note string // of the wanted invoice

	begun bool // something was sent

	browsers []*browser
}

// leave closes all connections.
func (p *player) leave() {
	for _, b := range p.browsers {
		b.client.CloseIdleConnections()
	}
}

// visitor opens the form in a new browser.
func (p *player) visitor(ctx context.Context) (*browser, error) {
	b := p.program()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	b.client.Jar = jar
	return b, b.openForm(ctx)
}

// program returns an HTTP client without cookies. It never resends on its own.
func (p *player) program() *browser {
	b := &browser{player: p, client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	p.browsers = append(p.browsers, b)
	return b
}

// send writes the bytes on a new connection and waits until the request has arrived.
func (p *player) send(ctx context.Context, sent []byte) (net.Conn, error) {
	there := p.underWay()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.on.address())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(sent); err != nil {
		_ = conn.Close() // the write failed already
		return nil, err
	}
	return conn, there(ctx)
}

// sendForm sends the form of a new visitor, and leaves the answer unread.
func (p *player) sendForm(ctx context.Context) (b *browser, sent []byte, conn net.Conn, err error) {
	if b, err = p.visitor(ctx); err == nil {
		sent, err = b.formBytes(ctx)
	}
	if err == nil {
		conn, err = p.send(ctx, sent)
	}
	return b, sent, conn, err
}

// underWay returns a function that waits until the next request is under way: the first one at work in the application,
// a later one as far as its twins let it.
func (p *player) underWay() func(context.Context) error {
	where := &p.on.front
	if p.on.gate != nil && !p.begun {
		where = &p.on.back
	}
	p.begun = true
	next := where.arrived() + 1
	return func(ctx context.Context) error { return where.untilArrived(ctx, next) }
}

// browser is one tab, or one program.
type browser struct {
	player *player
	client *http.Client
	hidden url.Values // the form's hidden fields
}

// secondTab returns a duplicate of the tab: the same form, the same cookies.
func (b *browser) secondTab() *browser {
	tab := b.player.program()
	tab.client.Jar, tab.hidden = b.client.Jar, b.hidden
	return tab
}

// openForm opens the page of the form and keeps the form's hidden fields, as
// a browser does.
func (b *browser) openForm(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.player.on.url()+"/invoices/new", nil)
	if err != nil {
		return err
	}
	response, err := b.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // only read.
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the form answered %d", response.StatusCode)
	}
	page, err := html.Parse(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return fmt.Errorf("read the form: %w", err)
	}
	b.hidden = url.Values{}
	for node := range page.Descendants() {
		attributes := map[string]string{}
		for _, a := range node.Attr {
			attributes[a.Key] = a.Val
		}
		if node.DataAtom == atom.Input && attributes["type"] == "hidden" {
			b.hidden.Add(attributes["name"], attributes["value"])
		}
	}
	return nil
}

// form returns the request for the wanted invoice.
func (b *browser) form(ctx context.Context) (*http.Request, error) {
	fields := url.Values{"customer_id": {"1"}, "amount": {"42.00"}, "currency": {"EUR"}, "note": {b.player.note}}
	maps.Copy(fields, b.hidden)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.player.on.url()+"/invoices", strings.NewReader(fields.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r, nil
}

// formBytes returns the submission as sent on the wire.
func (b *browser) formBytes(ctx context.Context) ([]byte, error) {
	r, err := b.form(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range b.client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	r.Close = true
	var wire bytes.Buffer
	if err := r.Write(&wire); err != nil {
		return nil, err
	}
	return wire.Bytes(), nil
}

// submit sends the form and reads the answer.
func (b *browser) submit(ctx context.Context, extra http.Header) (callerAnswer, error) {
	r, err := b.form(ctx)
	if err != nil {
		return callerAnswer{}, err
	}
	maps.Copy(r.Header, extra)
	return b.do(r)
}

// submitAndLand sends the form and opens the page that the answer redirects to.
func (b *browser) submitAndLand(ctx context.Context, extra http.Header) (string, error) {
	a, err := b.submit(ctx, extra)
	if err != nil {
		return "", err
	}
	return b.land(ctx, a)
}

// land opens the page that the answer redirects to.
func (b *browser) land(ctx context.Context, a callerAnswer) (string, error) {
	if a.location == "" {
		return a.String(), nil
	}
	return a.String(), b.expectPage(ctx, a.location)
}

// submitAndLeave sends the form and cuts the connection when the request is under way.
func (b *browser) submitAndLeave(ctx context.Context) error {
	there := b.player.underWay()
	leave, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = b.submit(leave, nil) // the answer is not read
	}()
	err := there(ctx)
	cancel()
	<-gone
	return err
}

// create requests an invoice from the JSON API; with an empty key it sends no header.
func (b *browser) create(ctx context.Context, key string, cents int) (callerAnswer, error) {
	text, err := json.Marshal(map[string]any{"customer_id": 1, "amount_cents": cents, "currency": "EUR", "note": b.player.note})
	if err != nil {
		return callerAnswer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.player.on.url()+"/api/invoices", bytes.NewReader(text))
	if err != nil {
		return callerAnswer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", `"`+key+`"`)
	}
	return b.do(r)
}

// hasPageScript reports whether a gateway has put the page script into the page without a form.
func (b *browser) hasPageScript(ctx context.Context) (bool, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.player.on.url()+"/quick", nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "text/html")
	response, err := b.client.Do(r)
	if err != nil {
		return false, err
	}
	defer response.Body.Close() //nolint:errcheck // only read.
	page, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	return bytes.Contains(page, []byte("data-semel-routes=")), err
}

// expectPage opens a page, which must exist.
func (b *browser) expectPage(ctx context.Context, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.player.on.url()+path, nil)
	if err != nil {
		return err
	}
	a, err := b.do(r)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("the page %s answered %d", path, a.status)
	}
	return err
}

func (b *browser) do(r *http.Request) (callerAnswer, error) {
	response, err := b.client.Do(r)
	if err != nil {
		return callerAnswer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // only read.
	return newAnswer(response)
}

// callerAnswer is a caller's answer, as a person would describe it.
type callerAnswer struct {
	status   int
	location string
	number   string // of the invoice, when the answer is one
	problem  string // the last word of a problem's type
	replayed bool
}

func readAnswer(conn net.Conn) (callerAnswer, error) {
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return callerAnswer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // only read.
	return newAnswer(response)
}

func newAnswer(response *http.Response) (callerAnswer, error) {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return callerAnswer{}, fmt.Errorf("read the answer: %w", err)
	}
	a := callerAnswer{
		status: response.StatusCode, location: response.Header.Get("Location"),
		replayed: response.Header.Get("Idempotency-Status") == "replayed",
	}
	if strings.HasSuffix(response.Header.Get("Content-Type"), "json") {
		var said struct {
			Number string `json:"number"`
			Type   string `json:"type"`
		}
		if err := json.Unmarshal(text, &said); err != nil {
			return a, fmt.Errorf("read the answer: %w", err)
		}
		a.number, a.problem = said.Number, said.Type[strings.LastIndexByte(said.Type, ':')+1:]
	}
	return a, nil
}

// String describes the answer in a few words.
func (a callerAnswer) String() string {
	text := fmt.Sprint(a.status)
	switch {
	case a.problem != "":
		text += " " + a.problem
	case a.number != "":
		text += " invoice " + a.number
	case a.location != "":
		text += " to " + a.location
	}
	if a.replayed {
		text += ", replayed"
	}
	return text
}
