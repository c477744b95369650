package check

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/wire"
)

// intent is one wish: every attempt of it has the same key and the same values.
type intent struct {
	key    string
	values Values
	user   *User
	draft  *draft // the page's form; nil without a page
	// Replacements for parts of the template, set by some checks.
	body   []byte
	url    *url.URL
	header []wire.Field
	// cookies are those that the user's log-in, and answers since, had set when the intent was made: all attempts of
	// one intent carry the same.
	cookies []*http.Cookie
	// loggedOut leaves out everything that identifies the user.
	loggedOut bool
}

// as returns the same key and values as sent by another user.
func (s *testRun) as(in *intent, user *User) *intent {
	other := *in
	other.values = maps.Clone(in.values)
	if user != nil {
		maps.Copy(other.values, user.Values)
	}
	other.user, other.cookies = user, s.cookies(user, other.values)
	return &other
}

// intent makes a new wish of the main user.
func (p *probe) intent(ctx context.Context) (*intent, error) { return p.run.newIntent(ctx, p.run.user) }

func (p *probe) intents(ctx context.Context, n int) ([]*intent, error) {
	all := make([]*intent, n)
	for i := range all {
		one, err := p.intent(ctx)
		if err != nil {
			return nil, err
		}
		all[i] = one
	}
	return all, nil
}

// newIntent returns a wish with the page on which it is filled in.
func (s *testRun) newIntent(ctx context.Context, user *User) (*intent, error) {
	in, err := s.wish(ctx, user)
	if err == nil && s.config.Page != nil {
		in.draft, err = s.openPage(ctx, s.config.Page, &s.config.Template, in)
	}
	return in, err
}

// wish fills in everything that distinguishes an intent from all before it, including those of earlier runs.
func (s *testRun) wish(ctx context.Context, user *User) (*intent, error) {
	values := s.freshValues(user)
	key, err := s.newKey(ctx, user, values)
	if err != nil {
		return nil, err
	}
	in := &intent{values: values, user: user, cookies: s.cookies(user, values)}
	return in.renamed(key), nil
}

func (s *testRun) newKey(ctx context.Context, user *User, values Values) (string, error) {
	switch {
	case s.config.NewKey != "":
		return values.Fill(s.config.NewKey), nil
	case !s.config.Template.Has("minted"):
		return keyPrefix + random(12), nil
	}
	key, err := s.mint(ctx, user, values)
	if err != nil {
		return "", fmt.Errorf("mint an id: %w", err)
	}
	values["minted"] = key
	return key, nil
}

func (s *testRun) freshValues(user *User) Values {
	s.mu.Lock()
	s.number++
	s.intents++
	n := s.number
	s.mu.Unlock()
	values := Values{"n": strconv.FormatInt(n, 10), "now": time.Now().UTC().Format(time.RFC3339)}
	if user != nil {
		maps.Copy(values, user.Values)
	}
	values["uuid"] = newUUID()
	return values
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func (in *intent) renamed(key string) *intent {
	copied := *in
	copied.key, copied.values = key, maps.Clone(in.values)
	copied.values["key"] = key
	if _, ok := copied.values["minted"]; ok {
		copied.values["minted"] = key
	}
	return &copied
}

// keyPrefix begins every key unless [Config.NewKey] says otherwise, so that people can find and remove the records of a
// run.
const keyPrefix = "semel-check-"

func random(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

func (s *testRun) mint(ctx context.Context, user *User, values Values) (string, error) {
	r, err := s.config.Mint.Template.fill(values)
	if err != nil {
		return "", err
	}
	if to, err := parseTarget(values.Fill(s.config.Template.URL)); err == nil && sameHost(to, r.URL) {
		identify(&r, user, values)
		setCookies(&r, s.cookies(user, values))
	}
	answer, err := s.lookUp(ctx, &r)
	if err != nil {
		return "", err
	}
	return pick(answer, s.config.Mint.Pointer)
}

// pick returns a text or number from a JSON answer.
func pick(answer *wire.Answer, pointer string) (string, error) {
	if answer.Status >= 300 {
		return "", fmt.Errorf("the answer is %s, but one with %s was expected", reply{Answer: answer}, pointer)
	}
	doc, ok := decodeJSON(answer.Body)
	if !ok {
		return "", errors.New("the answer is not JSON")
	}
	value, ok := place.At(doc, pointer)
	if !ok {
		return "", fmt.Errorf("the answer has nothing at %s", pointer)
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", fmt.Errorf("the value at %s is neither text nor a number", pointer)
}
