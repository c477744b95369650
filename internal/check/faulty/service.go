package faulty

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/check/wire"
)

// Service is a kind of service.
type Service struct {
	Name string
	// Says is the mistake in one plain sentence, and who makes it; or, of a
	// healthy one, what it does.
	Says string
	// Caught are the ids of the checks that have to fail; all others must not.
	Caught []string
	// Echoes are the ids of the checks that see what one of those failed for, and
	// nothing else.
	Echoes []string
	// Depends are ids of checks that fail or do not, as it comes: the mistake is
	// one of timing, and which of two is first is nobody's to say.
	Depends []string
	// Open are ids of checks that MUST hold and cannot be judged here, and Why
	// says what is missing.
	Open []string
	Why  string
	// Start starts one. Close ends it.
	Start func() (running Running, err error)
}

// Running is where a service lives.
type Running struct {
	Config check.Config
	Close  func()
}

// Services returns every service with a mistake.
func Services() []Service {
	return slices.Concat(
		keyFaults(), comparingFaults(), refusingFaults(), tellingFaults(), readingFaults(), mismatchFaults(), contentFaults(),
		answerFaults(), keepingFaults(), racingFaults(), refusedFaults(), storingFaults(), failingFaults(), takenFaults(),
		scopeFaults(), appFaults(), serverFaults(), processFaults(), pageFaults(), webhookFaults(),
	)
}

// anotherAnswer are the checks that compare a repetition with the first answer:
// the echoes of those that look at one part of it.
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

// unhurried is for services in which it matters what meets what: a busy machine
// must not make the difference.
func unhurried() Behaviour {
	return Behaviour{Before: 60 * time.Millisecond, After: 30 * time.Millisecond}
}

// recipe is what a service is made of. Zero fields are ordinary.
type recipe struct {
	behaviour Behaviour
	decisions func(*Decisions) // what is turned
	profile   string           // ietf
	// wrap stands outside of the door, inside of it; nil for nothing.
	outside, inside func(http.Handler) http.Handler
	change          func(*check.Config)
	front           func(net.Listener) net.Listener // nil for none
	// config is told of the process, too.
	process func(*check.Config, *Process)
}

// start opens the shop, puts the door before it, and serves both.
func (r recipe) start() (Running, error) {
	if r.behaviour.Before == 0 {
		r.behaviour.Before = before
	}
	if r.behaviour.After == 0 {
		r.behaviour.After = after
	}
	if r.profile == "" {
		r.profile = "ietf"
	}
	app, memory := NewApp(r.behaviour), &Memory{}
	inner := wrapped(app, r.inside)
	process := serveBehind(r.front, func(life Life) http.Handler {
		decisions := Correct()
		if r.decisions != nil {
			r.decisions(&decisions)
		}
		if decisions.Forgetful {
			memory = &Memory{}
		}
		return wrapped(NewDoor(life, memory, decisions, inner), r.outside)
	})
	config := Ask(process.URL, r.profile, app)
	if r.change != nil {
		r.change(&config)
	}
	if r.process != nil {
		r.process(&config, process)
	}
	return Running{Config: config, Close: process.Close}, nil
}

// impatient gives up early: what is refused for ever takes its time otherwise.
func impatient(setup func() (Running, error)) func() (Running, error) {
	return func() (Running, error) {
		running, err := setup()
		running.Config.Timeout = 1500 * time.Millisecond
		return running, err
	}
}

// only asks these groups: where not even one order goes right, what the others
// find says nothing more.
func only(setup func() (Running, error), groups ...string) func() (Running, error) {
	return func() (Running, error) {
		running, err := setup()
		running.Config.Only = groups
		return running, err
	}
}

func wrapped(handler http.Handler, wrap func(http.Handler) http.Handler) http.Handler {
	if wrap == nil {
		return handler
	}
	return wrap(handler)
}

// Ask is the configuration that orders at a shop.
func Ask(url, profile string, counters ...check.Counter) check.Config {
	known, _ := check.ProfileNamed(profile)
	return check.Config{
		Template: check.Template{
			Method: http.MethodPost, URL: url + "/orders",
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(`{"number":"{{uuid}}","amount":{{n}}}`),
		},
		Profile: known, Counters: counters, Level: check.LevelStrict,
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
