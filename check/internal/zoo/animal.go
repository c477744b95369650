package zoo

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// Animal is a kind of service.
type Animal struct {
	Name string
	// Says is the mistake in one plain sentence, and who makes it; or, of a
	// healthy one, what it does.
	Says string
	// Caught are the ids of the checks that have to fail; all others must not.
	Caught []string
	// Depends are ids of checks that fail or do not, as it comes: the mistake is
	// one of timing, and which of two is first is nobody's to say.
	Depends []string
	// Open are ids of checks that MUST hold and cannot be judged here, and Why
	// says what is missing.
	Open []string
	Why  string
	// Setup starts one. Close ends it.
	Setup func() (home Home, err error)
}

// Home is where an animal lives.
type Home struct {
	Config check.Config
	Close  func()
}

// Animals are all that have a mistake.
func Animals() []Animal {
	return slices.Concat(
		keyAnimals(), tellingAnimals(), answerAnimals(), racingAnimals(), storingAnimals(), scopeAnimals(),
		appAnimals(), processAnimals(), pageAnimals(), webhookAnimals(),
	)
}

// Durations of an ordinary order: long enough that two can meet, and that a
// caller can go away in the middle.
const (
	before = 20 * time.Millisecond
	after  = 10 * time.Millisecond
)

// habitat is what an animal is made of. Zero fields are ordinary.
type habitat struct {
	habits    Habits
	decisions func(*Decisions) // what is turned
	profile   string           // ietf
	// wrap stands outside of the door, inside of it; nil for nothing.
	outside, inside func(http.Handler) http.Handler
	change          func(*check.Config)
	front           func(net.Listener) net.Listener // nil for none
	// config is told of the process, too.
	process func(*check.Config, *Process)
}

// home opens the shop, puts the door before it, and serves both.
func (h habitat) home() (Home, error) {
	if h.habits.Before == 0 {
		h.habits.Before = before
	}
	if h.habits.After == 0 {
		h.habits.After = after
	}
	if h.profile == "" {
		h.profile = "ietf"
	}
	app, memory := NewApp(h.habits), &Memory{}
	inner := wrapped(app, h.inside)
	process := serveBehind(h.front, func(life Life) http.Handler {
		decisions := Correct()
		if h.decisions != nil {
			h.decisions(&decisions)
		}
		if decisions.Forgetful {
			memory = &Memory{}
		}
		return wrapped(NewDoor(life, memory, decisions, inner), h.outside)
	})
	config := Ask(process.URL, h.profile, app)
	if h.change != nil {
		h.change(&config)
	}
	if h.process != nil {
		h.process(&config, process)
	}
	return Home{Config: config, Close: process.Close}, nil
}

// impatient gives up early: what is refused for ever takes its time otherwise.
func impatient(setup func() (Home, error)) func() (Home, error) {
	return func() (Home, error) {
		home, err := setup()
		home.Config.Timeout = 1500 * time.Millisecond
		return home, err
	}
}

func wrapped(handler http.Handler, wrap func(http.Handler) http.Handler) http.Handler {
	if wrap == nil {
		return handler
	}
	return wrap(handler)
}

// Ask is the configuration that orders at a shop.
func Ask(url, profile string, oracles ...check.Oracle) check.Config {
	known, _ := check.ProfileNamed(profile)
	return check.Config{
		Template: check.Template{
			Method: http.MethodPost, URL: url + "/orders",
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(`{"number":"{{uuid}}","amount":{{n}}}`),
		},
		Profile: known, Oracles: oracles, Level: check.LevelStrict,
		Settle: 300 * time.Millisecond, Parallel: 20, Rate: 10_000, Timeout: 5 * time.Second,
		Failing: ask(url, `{"number":"fail-{{uuid}}","amount":{{n}}}`),
		Invalid: ask(url, `{"number":"","amount":{{n}}}`),
	}
}

func ask(url, body string) *check.Template {
	return &check.Template{
		Method: http.MethodPost, URL: url + "/orders",
		Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(body),
	}
}
