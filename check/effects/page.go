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
	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/wire"
)

// maxPageBytes bounds an answer if the client sets no limit.
const maxPageBytes = 64 << 20

// page is a document that is fetched for each count.
type page struct {
	client wire.Client
	url    string
	header []wire.Field
}

// reading finds the number in an answer; fill has the values of an intent.
type reading func(answer *wire.Answer, fill func(string) string) (int64, error)

// countOf counts by a reading of the page. The texts may have further places.
func countOf(client *wire.Client, at, what string, header []wire.Field, texts []string, read reading) (check.Counter, error) {
	p := &page{url: at, header: header}
	if client != nil {
		p.client = *client
	}
	if p.client.MaxBody <= 0 {
		p.client.MaxBody = maxPageBytes
	}
	for _, f := range header {
		texts = append(texts, f.Value)
	}
	perIntent, err := ofIntent(append(texts, at)...)
	if err != nil {
		return nil, err
	}
	known := check.Values{"uuid": "1", "n": "1", "now": "1", "key": "1", "minted": "1"}
	if _, err := target(known.Fill(at)); err != nil {
		return nil, err
	}
	return &counter{what + " at " + named(at), perIntent, func(ctx context.Context, fill func(string) string) (int64, error) {
		answer, err := p.fetch(ctx, fill)
		if err != nil {
			return 0, err
		}
		return read(answer, fill)
	}}, nil
}

func target(text string) (*url.URL, error) {
	at, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the count cannot be read: write it as http://host/path")
	case at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
		return nil, fmt.Errorf("the URL of the count, %s, is invalid: write it as http://host/path", named(text))
	}
	at.Fragment = ""
	return at, nil
}

// fetch sends one GET.
func (p *page) fetch(ctx context.Context, fill func(string) string) (*wire.Answer, error) {
	r, err := p.request(fill)
	if err != nil {
		return nil, err
	}
	answer, err := p.client.LookUp(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("ask for the count: %w", err)
	}
	switch {
	case answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden:
		return nil, fmt.Errorf("the answer is %s: the count needs its own credentials in a header, such as Authorization", status(answer))
	case answer.Status >= 300 && answer.Status < 400:
		return nil, fmt.Errorf("the answer is %s to %s: give the final URL, or a header with credentials", status(answer), named(answer.Header.Get("Location")))
	case answer.Status != http.StatusOK:
		return nil, fmt.Errorf("the answer is %s instead of 200 OK: check the URL", status(answer))
	case answer.Cut:
		return nil, errors.New("the answer is incomplete, so its items cannot be counted: ask for a number, or for one intent by {{n}}")
	case answer.Header.Get("Content-Encoding") != "":
		return nil, fmt.Errorf("the answer is in %s, which was not requested: use a URL that answers without an encoding", answer.Header.Get("Content-Encoding"))
	}
	return answer, nil
}

func (p *page) request(fill func(string) string) (*wire.Request, error) {
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

// hasMore reports whether the answer says that it is one page of several (RFC 8288).
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

func morePages(length int) error {
	return fmt.Errorf("the list ends at %d: the answer is one page of several, and the others are not followed; count a total, or one intent by {{n}}", length)
}

// secretName matches names of secret parameters.
const secretName = `(?i)(key|token|secret|password|passwd|pwd|auth|sig|session|code)` //nolint:gosec // names, and no secret.

// named returns a URL for reports, without values that may be secret.
func named(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "an unreadable URL"
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
