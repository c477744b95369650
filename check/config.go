package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/wire"
)

// spare limits the requests of a run that are repeated after a 429.
const spare = 20

// Defaults holds the bounds of a [Config] that gives none.
func Defaults() Config {
	return Config{Timeout: 15 * time.Second, Settle: 2 * time.Second, Parallel: 100, Rate: 200}
}

// Config says what is tried, and how. Template and Profile are required.
type Config struct {
	Template Template
	Profile  Profile
	// Key says where keys go. Zero means the place that the profile has.
	Key KeyPlace
	// NewKey is the key of a new intent, for services that only accept keys of one form: a text with {{uuid}} or {{n}}
	// in it. Empty means semel-check- and 24 hexadecimal digits. Checks of how keys are spelled make their own.
	NewKey string
	// Counters count effects. Without any, checks that need one are incomplete.
	Counters []Counter
	// Login is sent once for each user before anything else; nil for none.
	Login *Login
	// Mint is asked for {{minted}} before each intent; nil for none.
	Mint *Mint
	// Page is visited before each intent, and its form is sent; nil to send the template as it is.
	Page *Page
	// User has the header lines that identify the caller; they replace those of the template. Other is a second user,
	// for checks of scope.
	User, Other *User
	// Failing is a request that the service answers with a 5xx, once or always;
	// nil if there is none. Invalid is one that it refuses with a 4xx; nil for
	// the template with half of its body.
	Failing, Invalid *Template
	// OtherBody has a different body for the request, with any header lines that it needs, to misuse a known key; nil
	// to make one.
	OtherBody *Template
	// Secret signs webhooks: the decoded part after whsec_.
	Secret []byte
	// Restart restarts the service and returns when it accepts requests again; Kill kills it without warning and starts
	// it again. The checks that need them are skipped if they are nil.
	Restart, Kill func(context.Context) error
	// Recovery is the time after a crash in which the service may refuse an attempt because an earlier one is running.
	// Zero means unknown: the checks wait a minute and do not judge what is refused then.
	Recovery time.Duration
	// Observed, when set, is the proxy between the service and its dependency, and can make calls fail.
	Observed Dependency
	// Retention is the time for which the service remembers a key, if that was shortened for this test; with zero,
	// checks of expiry are skipped.
	Retention time.Duration

	// Level is the lowest level that runs and counts. Empty means LevelShould.
	Level Level
	// Only and Skip name checks or groups; Only empty means all.
	Only, Skip []string
	// Timeout bounds one exchange, Settle how long effects may take to be seen.
	Timeout, Settle time.Duration
	// Parallel is the most requests at once, Rate the most in a second.
	Parallel int
	Rate     float64
	// Ignore are JSON pointers and names of headers that may differ between an
	// answer and its repetition.
	Ignore []string
	// Baseline has the ids of checks that are known to fail.
	Baseline []string
	// Mask has further names of headers, members, fields and query parameters whose values no report shows. Passwords,
	// tokens, cookies and the like are always masked.
	Mask []string
	// TLS is used for https; nil means the authorities of the machine.
	TLS *tls.Config
	// Progress, when set, is called with the progress of the run.
	Progress func(done, all int, what string)
}

// User is a sender of requests.
type User struct {
	Header []wire.Field
	// Values fill the log-in's places, such as {{var:password}}.
	Values Values
}

// Login is a request whose answer identifies the caller from then on: its cookies, and the values that Take finds.
type Login struct {
	Template Template
	// Page, when set, has the log-in form: its hidden fields, such as a CSRF token, are sent as well. The template's
	// body has the fields that a person types.
	Page *Page
	// Take maps the name of a {{var:NAME}} to a JSON pointer into the answer.
	Take map[string]string
}

// Mint is a request whose answer holds the id of the next intent.
type Mint struct {
	Template Template
	Pointer  string // into its JSON answer
}

// Dependency is the proxy in front of what the service calls. It is safe for concurrent use. If it has a method
// Pending() int, which returns how many calls are still to fail, a check can tell whether the service made any call.
type Dependency interface {
	// FailNext makes the next n calls fail with the status; they are not forwarded. It replaces the earlier setting:
	// with zero, none fails.
	FailNext(n, status int)
}

// complete fills in defaults and reports what is missing.
func (c *Config) complete() error {
	if c.Profile.Name == "" {
		return errors.New("no profile was named")
	}
	if c.Key.In == "" {
		c.Key = c.Profile.Key
	}
	if c.Level == "" {
		c.Level = LevelShould
	}
	bounds := Defaults()
	c.Timeout = orElse(c.Timeout, bounds.Timeout)
	c.Settle = orElse(c.Settle, bounds.Settle)
	c.Parallel = orElse(c.Parallel, bounds.Parallel)
	c.Rate = orElse(c.Rate, bounds.Rate)
	if err := c.Template.Validate(); err != nil {
		return err
	}
	if c.Key.In == keyInTemplate && !c.Template.Has("key") && !c.Template.Has("minted") {
		return fmt.Errorf("the profile %s has the key in the request itself: write {{key}}, or {{minted}} with a mint step, where it belongs", c.Profile.Name)
	}
	if c.Template.Has("minted") && c.Mint == nil {
		return errors.New("the request contains {{minted}}, but no mint step says where it comes from")
	}
	if err := c.knowsKeys(); err != nil {
		return err
	}
	if err := c.placesKey(); err != nil {
		return err
	}
	if c.Page != nil {
		if err := c.Page.validate(&c.Template); err != nil {
			return err
		}
	}
	if c.Login != nil && c.Login.Page != nil {
		if err := c.Login.Page.validate(&c.Login.Template); err != nil {
			return fmt.Errorf("log in: %w", err)
		}
	}
	return c.knowsSelection()
}

// knowsKeys rejects a NewKey that would not differ between intents.
func (c *Config) knowsKeys() error {
	if c.NewKey == "" {
		return nil
	}
	varies := false
	for _, name := range place.Names(c.NewKey) {
		switch {
		case name == "uuid", name == "n":
			varies = true
		case name != "now":
			return fmt.Errorf("the key %q has {{%s}}, which a key cannot be made of: use {{uuid}} or {{n}}", c.NewKey, name)
		}
	}
	switch {
	case !varies:
		return fmt.Errorf("the key %q is the same for every intent: write {{uuid}} or {{n}} into it", c.NewKey)
	case c.Key.In == keyNowhere:
		return fmt.Errorf("the profile %s has no keys, so %q cannot be sent", c.Profile.Name, c.NewKey)
	case c.Template.Has("minted"):
		return fmt.Errorf("the key is {{minted}}: it cannot also be %q", c.NewKey)
	}
	return nil
}

// placesKey checks the place of keys before anything is sent. A page's form brings a body of its own.
func (c *Config) placesKey() error {
	if c.Key.In == keyInHeader && !httpguts.ValidHeaderFieldName(c.Key.Name) {
		return fmt.Errorf("%q is not the name of a header, so it cannot hold the key: write it as Idempotency-Key", c.Key.Name)
	}
	if c.Page != nil {
		return nil
	}
	body, values := string(c.Template.Body), Values{}
	for _, name := range place.Names(body) {
		values[name] = "1"
	}
	return c.Key.put(&wire.Request{URL: &url.URL{}, Body: []byte(values.Fill(body))}, keyPrefix)
}

func orElse[T int | float64 | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}

// knowsSelection rejects unknown names in Only, Skip and Baseline.
func (c *Config) knowsSelection() error {
	all := Catalog()
	for _, name := range slices.Concat(c.Only, c.Skip, c.Baseline) {
		if !slices.ContainsFunc(all, func(ch Check) bool { return ch.named(name) }) {
			return fmt.Errorf("unknown check or group %q (see: semel check --list)", name)
		}
	}
	return nil
}

// named reports whether name means this check: its id, its group, or the part of its id before the dash.
func (c *Check) named(name string) bool {
	return strings.EqualFold(c.ID, name) || strings.EqualFold(c.Group, name) ||
		strings.HasPrefix(c.ID, strings.ToUpper(name)+"-")
}
