package check

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/wire"
)

// Template is the request under test. Places such as {{uuid}} in URL, Header
// and Body are filled anew for every intent, and alike for every attempt of one.
//
//	{{uuid}}     a random UUID (RFC 9562, version 7)
//	{{n}}        a number, different for every intent, including those of earlier runs
//	{{now}}      the time at which the intent began, RFC 3339 in UTC
//	{{key}}      the key of the intent
//	{{minted}}   what the mint step answered ([Mint])
//	{{var:NAME}} what the log-in took from its answer ([Login])
type Template struct {
	Method string
	URL    string
	Header []wire.Field
	Body   []byte
}

// Values fill the places of a template.
type Values map[string]string

// Fill replaces the places of text that have a value, and keeps the others.
func (v Values) Fill(text string) string { return place.Fill(text, v) }

func (t *Template) texts() []string {
	all := []string{t.URL, string(t.Body)}
	for _, f := range t.Header {
		all = append(all, f.Value)
	}
	return all
}

// Has reports whether the template has the place.
func (t *Template) Has(name string) bool {
	return slices.Contains(place.Names(t.texts()...), name)
}

// Varies reports whether two intents differ in more than their key.
func (t *Template) Varies() bool {
	return t.Has("uuid") || t.Has("n") || t.Has("now") || t.Has("minted")
}

// Validate reports what is wrong with the template, and what to do.
func (t *Template) Validate() error {
	known := Values{"uuid": "", "n": "1", "now": "", "key": "", "minted": ""}
	for _, name := range place.Names(t.texts()...) {
		_, ok := known[name]
		switch {
		case ok:
		case strings.HasPrefix(name, "var:"): // the log-in may provide the address
			known[name] = "1"
			if strings.HasPrefix(t.URL, "{{"+name+"}}") {
				known[name] = "http://host"
			}
		default:
			return fmt.Errorf("unknown place {{%s}}: use {{uuid}}, {{n}}, {{now}}, {{key}}, {{minted}} or {{var:NAME}}", name)
		}
	}
	_, err := parseTarget(known.Fill(t.URL))
	return err
}

func parseTarget(text string) (*url.URL, error) {
	at, err := url.Parse(text)
	text = withoutUser(text)
	switch {
	case err != nil && strings.Contains(text, "@"): // the error of url.Parse quotes the URL
		return nil, fmt.Errorf("the URL %q cannot be read: percent-encode the user name and password", text)
	case err != nil:
		return nil, fmt.Errorf("the URL cannot be read: %w", err)
	case at.Scheme != "http" && at.Scheme != "https":
		return nil, fmt.Errorf("the URL %q does not begin with http:// or https://", text)
	case at.Host == "":
		return nil, fmt.Errorf("the URL %q names no host", text)
	case at.Fragment != "":
		return nil, fmt.Errorf("the URL %q has a fragment (#…), which is never sent: remove it", text)
	}
	return at, nil
}

// withoutUser returns a URL, which may be malformed, for messages, without anything that could be a user name and
// password.
func withoutUser(text string) string {
	at := strings.LastIndex(text, "@")
	if at < 0 {
		return text
	}
	scheme, _, found := strings.Cut(text[:at], "://")
	if !found {
		return "…" + text[at:]
	}
	return scheme + "://…" + text[at:]
}

func (t *Template) fill(v Values) (wire.Request, error) {
	at, err := parseTarget(v.Fill(t.URL))
	if err != nil {
		return wire.Request{}, err
	}
	r := wire.Request{Method: t.Method, URL: at, Body: []byte(v.Fill(string(t.Body)))}
	for _, f := range t.Header {
		r.Header = append(r.Header, wire.Field{Name: f.Name, Value: v.Fill(f.Value)})
	}
	return r, nil
}
