package effects

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/check/place"
	"github.com/semel-dev/semel/internal/check/wire"
)

// maxPageBytes bounds what is fetched for one count, where the client says
// nothing.
const maxPageBytes = 64 << 20

// Page is an [check.Counter] that fetches a document for each count. It is made
// by [JSON], [Header] and [HTML], and safe for concurrent use.
type Page struct {
	client    wire.Client
	url       string
	header    []wire.Field
	what      string // is counted
	perIntent bool
	number    func(*wire.Answer, func(string) string) (int64, error)
}

var _ check.Counter = (*Page)(nil)

// newPage is a page of which the number is yet to be said. What has further
// places are the texts.
func newPage(client *wire.Client, at string, header []wire.Field, texts ...string) (*Page, error) {
	p := &Page{url: at, header: slices.Clone(header)}
	if client != nil {
		p.client = *client
	}
	if p.client.MaxBody <= 0 {
		p.client.MaxBody = maxPageBytes
	}
	for _, f := range header {
		texts = append(texts, f.Value)
	}
	var err error
	if p.perIntent, err = ofIntent(append(texts, at)...); err != nil {
		return nil, err
	}
	known := check.Values{"uuid": "1", "n": "1", "now": "1", "key": "1", "minted": "1"}
	_, err = target(known.Fill(at))
	return p, err
}

// target reads the address of a page.
func target(text string) (*url.URL, error) {
	at, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the address of the count cannot be read: write it as http://host/path")
	case at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
		return nil, fmt.Errorf("the address of the count, %s, is not one: write it as http://host/path", named(text))
	}
	at.Fragment = ""
	return at, nil
}

// Name implements [check.Counter].
func (p *Page) Name() string { return p.what + " at " + named(p.url) }

// PerIntent implements [check.Counter].
func (p *Page) PerIntent() bool { return p.perIntent }

// Count implements [check.Counter]: it sends one GET.
func (p *Page) Count(ctx context.Context, fill func(string) string) (int64, error) {
	r, err := p.request(fill)
	if err != nil {
		return 0, err
	}
	answer, err := p.client.Do(ctx, r, nil)
	if err != nil {
		return 0, fmt.Errorf("ask for the count: %w", err)
	}
	switch {
	case answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden:
		return 0, fmt.Errorf("the answer is %s: the count needs a header line of its own that says who asks, such as Authorization", status(answer))
	case answer.Status >= 300 && answer.Status < 400:
		return 0, fmt.Errorf("the answer is %s to %s: give the address where the count is, or the header line of a log-in", status(answer), named(answer.Header.Get("Location")))
	case answer.Status != http.StatusOK:
		return 0, fmt.Errorf("the answer is %s instead of 200 OK: look whether the address is right", status(answer))
	case answer.Cut:
		return 0, errors.New("the answer is not whole, so what it lists cannot be counted: ask for a number, or for one intent by {{n}}")
	case answer.Header.Get("Content-Encoding") != "":
		return 0, fmt.Errorf("the answer is in %s, which was not asked for: ask an address that answers plainly", answer.Header.Get("Content-Encoding"))
	}
	return p.number(answer, fill)
}

func (p *Page) request(fill func(string) string) (*wire.Request, error) {
	text, err := filled(fill, p.url)
	if err != nil {
		return nil, err
	}
	at, err := target(text)
	if err != nil {
		return nil, err
	}
	r := &wire.Request{Method: http.MethodGet, URL: at}
	for _, f := range p.header {
		value, err := filled(fill, f.Value)
		if err != nil {
			return nil, err
		}
		r.Add(f.Name, value)
	}
	return r, nil
}

func status(answer *wire.Answer) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status)))
}

// goesOn reports whether the answer says that it is one page of several
// (RFC 8288). Next pages are not followed.
func goesOn(answer *wire.Answer) bool {
	return slices.ContainsFunc(answer.Header.Values("Link"), func(line string) bool {
		for link := range strings.SplitSeq(line, ",") {
			for parameter := range strings.SplitSeq(link, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
				if strings.EqualFold(name, "rel") && slices.Contains(strings.Fields(strings.ToLower(strings.Trim(value, `"`))), "next") {
					return true
				}
			}
		}
		return false
	})
}

// morePages is the error of a list whose length is not that of everything.
func morePages(length int) error {
	return fmt.Errorf("the list ends at %d: the answer is one page of several, and the others are not followed; count a total, or one intent by {{n}}", length)
}

// secretName finds names of parameters that hold what nobody else may know.
const secretName = `(?i)(key|token|secret|password|passwd|pwd|auth|sig|session|code)` //nolint:gosec // names, and no secret.

// named is an address as reports have it, without what may be secret.
func named(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "an address that cannot be read"
	}
	if at.User != nil {
		at.User = url.User("…")
	}
	at.Fragment = ""
	parts := strings.Split(at.RawQuery, "&")
	secret := regexp.MustCompile(secretName)
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if ok && secret.MatchString(name) && len(place.Names(value)) == 0 {
			parts[i] = name + "=…"
		}
	}
	at.RawQuery = strings.Join(parts, "&")
	plain, err := url.PathUnescape(at.String())
	if err != nil {
		return at.String()
	}
	return plain
}
