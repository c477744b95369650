package source

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/wire"
)

// agent is the User-Agent if a source has none: some services refuse requests without one.
const agent = "semel-check"

// Request is a request under test, with further information from its source.
type Request struct {
	Template check.Template
	// Key is the header line that identified one intent. It was removed from the template, since every intent needs its
	// own key. Its name says where the service expects keys, and is empty if there was none; the value is empty if the
	// source only describes the header.
	Key wire.Field
	// Auth describes the credentials that the service requires, if the source knows but lacks them.
	Auth []string
	// Reach says how to reach the service.
	Reach Reach
	// Notes are for people: what was left out, made up, or is needed.
	Notes []string
}

// Reach holds curl's options for the way to the service. The zero value is the plain way.
type Reach struct {
	Insecure  bool   // -k: certificates are not verified
	CACert    string // --cacert: a file of authorities
	Cert, Key string // --cert, --key: files of the client's certificate
}

func (r *Request) addNote(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

func (r *Request) has(name string) bool { return r.value(name) != nil }

func (r *Request) value(name string) *wire.Field {
	at := slices.IndexFunc(r.Template.Header, func(f wire.Field) bool { return strings.EqualFold(f.Name, name) })
	if at < 0 {
		return nil
	}
	return &r.Template.Header[at]
}

func (r *Request) add(name, value string) {
	r.Template.Header = append(r.Template.Header, wire.Field{Name: name, Value: value})
}

func (r *Request) finish() error {
	if err := r.tidyURL(); err != nil {
		return err
	}
	if !isToken(r.Template.Method) {
		return fmt.Errorf("%q is not an HTTP method: use one such as POST", r.Template.Method)
	}
	if len(r.Template.Body) > MaxBytes {
		return fmt.Errorf("the body is larger than %d MiB: use a smaller one", MaxBytes>>20)
	}
	if err := r.tidyHeader(); err != nil {
		return err
	}
	if !r.has("User-Agent") {
		r.add("User-Agent", agent)
	}
	for _, name := range place.Names(r.texts()...) {
		if variable, ok := strings.CutPrefix(name, "var:"); ok {
			r.addNote("{{%s}} has no value here: give %s one, with a log-in or as a value of the user", name, variable)
		}
	}
	return r.Template.Validate()
}

func (r *Request) texts() []string {
	all := []string{r.Template.URL, string(r.Template.Body)}
	for _, f := range r.Template.Header {
		all = append(all, f.Value)
	}
	return all
}

// tidyURL removes the parts that are never sent, and turns a user into a header.
func (r *Request) tidyURL() error {
	text, _, _ := strings.Cut(r.Template.URL, "#")
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		r.Template.URL = text
		return nil
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host, path := rest[:end], rest[end:]
	if at := strings.LastIndex(host, "@"); at >= 0 {
		user, err := url.PathUnescape(host[:at])
		if err != nil {
			return fmt.Errorf("the user in the URL cannot be read: %w", err)
		}
		host = host[at+1:]
		if err := r.authorize(user); err != nil {
			return err
		}
	}
	r.Template.URL = strings.ToLower(scheme) + "://" + host + outsidePlaces(path, escapeInvalid)
	return nil
}

func (r *Request) authorize(user string) error {
	if r.has("Authorization") {
		return nil
	}
	encoded, err := basic(user)
	if err == nil {
		r.add("Authorization", encoded)
	}
	return err
}

// basic returns credentials for Basic authentication (RFC 7617).
func basic(user string) (string, error) {
	if len(place.Names(user)) > 0 {
		return "", errors.New("user and password are encoded, so they cannot contain a place such as {{var:password}}: write them out, or give the header Authorization")
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user)), nil
}

// tidyHeader keeps the lines that belong to the intent.
func (r *Request) tidyHeader() error {
	signed := r.has("webhook-id") || r.has("svix-id")
	var kept []wire.Field
	for _, f := range r.Template.Header {
		f.Value = strings.Trim(f.Value, " \t")
		name := strings.ToLower(f.Name)
		switch {
		case strings.HasPrefix(name, ":"), slices.Contains(hopByHop(), name):
			continue
		case name == "host" && strings.EqualFold(f.Value, hostOf(r.Template.URL)):
			continue
		case name == "accept-encoding":
			r.addNote("Accept-Encoding was left out: answers are compared as they are sent")
			continue
		case isKey(name) && !mintsKey(f.Value):
			if r.Key.Name == "" {
				r.Key = f
			}
			r.addNote("the header %s was left out: every intent gets a key of its own", f.Name)
			continue
		case signed && isSignature(name):
			r.addNote("%s was left out: every delivery is signed anew", f.Name)
			continue
		}
		if !isToken(f.Name) || strings.ContainsAny(f.Value, "\r\n\x00") {
			return fmt.Errorf("the header %q is invalid: write NAME: VALUE, without line breaks", f.Name) // the value may be a secret
		}
		kept = append(kept, f)
	}
	r.Template.Header = kept
	return nil
}

// hopByHop returns the headers about one connection (RFC 9110 §7.6.1), and about the length of one message.
func hopByHop() []string {
	return []string{
		"connection", "proxy-connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade",
		"http2-settings", "proxy-authorization", "content-length", "expect",
	}
}

func isKey(name string) bool {
	switch strings.ToLower(name) {
	case "idempotency-key", "x-idempotency-key", "idempotent-key", "x-idempotent-key",
		"paypal-request-id", "webhook-id", "svix-id":
		return true
	}
	return false
}

// mintsKey reports whether a value marks the place of each intent's key.
func mintsKey(value string) bool {
	names := place.Names(value)
	return slices.Contains(names, "key") || slices.Contains(names, "minted")
}

func isSignature(name string) bool {
	name, ok := strings.CutPrefix(name, "webhook-")
	if !ok {
		name, ok = strings.CutPrefix(name, "svix-")
	}
	return ok && (name == "timestamp" || name == "signature")
}

// isToken reports whether the text may be a method or a header's name (RFC 9110 §5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

func hostOf(at string) string {
	_, rest, _ := strings.Cut(at, "://")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

func pathOf(at string) string {
	_, rest, _ := strings.Cut(at, "://")
	start := strings.IndexAny(rest, "/?")
	if start < 0 {
		return "/"
	}
	path, _, _ := strings.Cut(rest[start:], "?")
	if path == "" {
		return "/"
	}
	return path
}
