package faulty

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// Service is a kind of service.
type Service struct {
	Name string
	// Says describes the mistake, or a healthy service, in a plain sentence.
	Says string
	// Caught are the ids of the checks that have to fail; all others must not.
	Caught []string
	// Echoes are the ids of the checks that only see the failure of one of those.
	Echoes []string
	// Depends are ids of checks that may or may not fail: the mistake is one of timing, and the order of two requests
	// is undefined.
	Depends []string
	// Open are ids of MUST checks that cannot be judged here, and Why names what is missing.
	Open []string
	Why  string
	// Start starts one. Close ends it.
	Start func() (running Running, err error)
}

// fault returns a service with a mistake, and healthy one without.
func fault(name, says string, found checks, start func() (Running, error)) Service {
	return Service{Name: name, Says: says, Caught: found.caught, Echoes: found.echoes, Depends: found.depends, Start: start}
}

func healthy(name, says string, start func() (Running, error)) Service {
	return Service{Name: name, Says: says, Start: start}
}

// checks are those that find a mistake: see [Service].
type checks struct{ caught, echoes, depends []string }

func by(ids ...string) checks { return checks{caught: ids} }

func (c checks) echoed(ids ...string) checks { return checks{c.caught, ids, c.depends} }

func (c checks) perhaps(ids ...string) checks { return checks{c.caught, c.echoes, ids} }

// Running is a started service.
type Running struct {
	Config check.Config
	Close  func()
}

// Services returns every service with a mistake.
func Services() []Service {
	return slices.Concat(
		keyFaults(), refusingFaults(), tellingFaults(), mismatchFaults(), contentFaults(),
		answerFaults(), racingFaults(), storingFaults(), failingFaults(),
		scopeFaults(), envelopeFaults(), appFaults(), processFaults(), pageFaults(), webhookFaults(),
	)
}

// anotherAnswer returns the checks that compare a repetition with the first answer: the echoes of those that look at
// one part of it.
func anotherAnswer() []string {
	return []string{"BASIC-10", "RACE-06", "LOST-05", "LOST-08", "LOST-10", "SIZE-02", "SIZE-03", "SIZE-04", "SIZE-05", "SIZE-06"}
}

// doneAgain returns the checks that see a repeated effect, as long as no key distinguishes it.
func doneAgain() []string {
	return []string{
		"BASIC-02", "BASIC-05", "BASIC-08", "BASIC-10", "LOST-04", "LOST-05", "LOST-06", "LOST-07", "LOST-08", "LOST-10",
		"SIZE-02", "SIZE-03", "SIZE-04", "SIZE-05", "SIZE-06",
	}
}

// doneTogether returns the checks that see two effects at once.
func doneTogether() []string {
	return []string{"RACE-01", "RACE-02", "RACE-03", "RACE-04", "RACE-05", "RACE-06"}
}

// Durations of an ordinary order: long enough for two to overlap, and for a caller to go away in the middle.
const (
	before = 20 * time.Millisecond
	after  = 10 * time.Millisecond
)

// unhurried is for services in which overlaps matter: a busy machine must not make the difference.
func unhurried() Behaviour {
	return Behaviour{Before: 60 * time.Millisecond, After: 30 * time.Millisecond}
}

// effectFirst has the effect at once and answers late, so that a kill at any moment that OP-02 chooses comes after the effect, on a
// busy machine as well.
func effectFirst() Behaviour {
	return Behaviour{Before: time.Millisecond, After: 100 * time.Millisecond}
}

// recipe configures a service. Zero fields are ordinary.
type recipe struct {
	behaviour Behaviour
	decisions func(*Decisions) // the changed decisions
	profile   string           // ietf
	// outside wraps the door, inside the application; nil for nothing.
	outside, inside func(http.Handler) http.Handler
	change          func(*check.Config)
	front           func(net.Listener) net.Listener // nil for none
	// process is change with the process.
	process func(*check.Config, *Process)
}

// start opens the shop, puts the door in front of it, and serves both.
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

// impatient stops early: permanent refusals take long otherwise.
func impatient(setup func() (Running, error)) func() (Running, error) {
	return func() (Running, error) {
		running, err := setup()
		running.Config.Timeout = 1500 * time.Millisecond
		return running, err
	}
}

// only selects these groups: if not even one order works, the others show nothing more.
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

// Ask returns a configuration that orders at a shop.
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
