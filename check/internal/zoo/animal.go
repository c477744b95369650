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
		keyAnimals(), comparingAnimals(), refusingAnimals(), tellingAnimals(), readingAnimals(), mismatchAnimals(), contentAnimals(),
		answerAnimals(), keepingAnimals(), racingAnimals(), refusedAnimals(), storingAnimals(), failingAnimals(), takenAnimals(),
		scopeAnimals(), appAnimals(), serverAnimals(), processAnimals(), pageAnimals(), webhookAnimals(),
	)
}

// anotherAnswer are the checks that compare a repetition with the first answer,
// beside those that look at one part of it.
func anotherAnswer() []string {
	return []string{"BASIC-10", "RACE-06", "LOST-05", "LOST-08", "LOST-10", "SIZE-02", "SIZE-03", "SIZE-04", "SIZE-05", "SIZE-06"}
}

// doneAgain are the checks that see a repetition done once more, as long as no
// key tells it from others.
func doneAgain() []string {
	return []string{
		"BASIC-02", "BASIC-05", "BASIC-08", "BASIC-10", "LOST-04", "LOST-05", "LOST-06", "LOST-07", "LOST-08", "LOST-10",
		"SIZE-02", "SIZE-03", "SIZE-04", "SIZE-05", "SIZE-06",
	}
}

// doneTogether are the checks that see two at once done.
func doneTogether() []string {
	return []string{"RACE-01", "RACE-02", "RACE-03", "RACE-04", "RACE-05", "RACE-06"}
}

// Durations of an ordinary order: long enough that two can meet, and that a
// caller can go away in the middle.
const (
	before = 20 * time.Millisecond
	after  = 10 * time.Millisecond
)

// unhurried is for animals in which it matters what meets what: a busy machine
// must not make the difference.
func unhurried() Habits { return Habits{Before: 60 * time.Millisecond, After: 30 * time.Millisecond} }

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

// only asks these groups: where not even one order goes right, what the others
// find says nothing more.
func only(setup func() (Home, error), groups ...string) func() (Home, error) {
	return func() (Home, error) {
		home, err := setup()
		home.Config.Only = groups
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
