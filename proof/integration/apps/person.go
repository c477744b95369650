package apps

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
)

// Site is the address by which people know the application, whichever door they come
// through: pages that name their own host are the same behind the gateway.
const Site = "http://app.test"

const maxAnswer = 32 << 20

// Person uses a browser: it has a jar of cookies, and follows
// redirects. It is safe for concurrent use, as two tabs are.
type Person struct {
	tb     testing.TB
	client *http.Client
	// Header goes with every request, such as an Authorization header. It is
	// not to be changed while a request runs.
	Header http.Header
}

// NewPerson returns a person without cookies who reaches [Site] at an address
// (host:port).
func NewPerson(tb testing.TB, address string) *Person {
	tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	dialer := &net.Dialer{}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		},
		MaxIdleConnsPerHost: 16,
	}
	tb.Cleanup(transport.CloseIdleConnections)
	return &Person{tb: tb, client: &http.Client{
		Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, Header: http.Header{}}
}

// Answer is the answer to a request.
type Answer struct {
	URL    *url.URL
	Status int
	Header http.Header
	Body   []byte
}

// Location is the address that the answer redirects to, or "".
func (a *Answer) Location() string { return a.Header.Get("Location") }

// Cookie is the value of a cookie that the person has, or "".
func (p *Person) Cookie(name string) string {
	site, _ := url.Parse(Site)
	for _, c := range p.client.Jar.Cookies(site) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// Get asks for a path of the site, and follows nothing.
func (p *Person) Get(path string) *Answer {
	p.tb.Helper()
	return p.Do(http.MethodGet, path, "", nil)
}

// Open asks for a path, and follows redirects to the page at their end.
func (p *Person) Open(path string) *Page {
	p.tb.Helper()
	return p.Follow(p.Get(path))
}

// Do sends a request, and follows nothing. Names and values of more headers
// may follow.
func (p *Person) Do(method, path, contentType string, body []byte, headers ...string) *Answer {
	p.tb.Helper()
	answer, err := p.do(method, path, contentType, body, headers)
	if err != nil {
		p.tb.Fatal(err)
	}
	return answer
}

func (p *Person) do(method, path, contentType string, body []byte, headers []string) (*Answer, error) {
	at, err := url.Parse(Site)
	if err == nil {
		at, err = at.Parse(path)
	}
	if err != nil {
		return nil, err
	}
	// A body without GetBody: this client sends a request once.
	req, err := http.NewRequestWithContext(p.tb.Context(), method, at.String(), io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(body))
	if len(body) == 0 {
		req.Body = http.NoBody
	}
	maps.Copy(req.Header, p.Header)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	req.Header.Set("Accept-Language", "en")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Origin", Site)
		req.Header.Set("Referer", at.String())
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	read, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	err = errors.Join(err, res.Body.Close())
	return &Answer{URL: at, Status: res.StatusCode, Header: res.Header, Body: read}, err
}

// Send sends what a form came to, and follows nothing.
func (p *Person) Send(s *Submission) *Answer {
	p.tb.Helper()
	return p.Do(s.Method, s.Path, s.ContentType, s.Body, s.Headers...)
}

// SendAtOnce sends the same submission several times, without waiting for an
// answer in between.
func (p *Person) SendAtOnce(s *Submission, times int) []*Answer {
	p.tb.Helper()
	answers := make([]*Answer, times)
	problems := make([]error, times)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range times {
		group.Go(func() {
			<-start
			answers[i], problems[i] = p.do(s.Method, s.Path, s.ContentType, s.Body, s.Headers)
		})
	}
	close(start)
	group.Wait()
	if err := errors.Join(problems...); err != nil {
		p.tb.Fatal(err)
	}
	return answers
}

// Follow follows redirects from an answer to the page at their end.
func (p *Person) Follow(a *Answer) *Page {
	p.tb.Helper()
	for range 10 {
		if a.Location() == "" {
			break
		}
		next, err := a.URL.Parse(a.Location())
		if err != nil {
			p.tb.Fatal(err)
		}
		a = p.Get(next.RequestURI())
	}
	if a.Status != http.StatusOK {
		p.tb.Fatalf("%s: got status %d, want a page: %.2000s", a.URL, a.Status, a.Body)
	}
	doc, err := html.Parse(bytes.NewReader(a.Body))
	if err != nil {
		p.tb.Fatal(err)
	}
	return &Page{tb: p.tb, Answer: a, doc: doc}
}

// Page is an answer that a person looks at.
type Page struct {
	*Answer

	tb  testing.TB
	doc *html.Node
}

// Text returns the text of the elements with this class, each one's white
// space folded.
func (p *Page) Text(class string) []string {
	var found []string
	for n := range p.doc.Descendants() {
		if n.Type != html.ElementNode || !strings.Contains(" "+attribute(n, "class")+" ", " "+class+" ") {
			continue
		}
		found = append(found, text(n))
	}
	return found
}

func text(n *html.Node) string {
	var b strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}
