package foreign_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/proof/integration/apps"
)

// implementation is a library in front of the shop.
type implementation struct {
	name, version string // of the package of npm, or of the module of Go
	part          string // of the library, which has several; "" for the whole
	from          string // "npm", or "Go"
	service       string // the file of testdata, or the first argument of services
	quick         bool   // the short form of the tests also examines it
	profile       string // of semel check; "" for ietf
	set           func(*check.Config)
	env           func(testing.TB) []string // what else is in the environment of the service
	// known has a line for each thing that is known: the ids of checks, one of the words of [verdicts], and the reason.
	known string
}

// label names the library, and its part.
func (i *implementation) label() string {
	return strings.TrimSpace(strings.TrimPrefix(i.name, "github.com/") + " " + i.part)
}

// fact is a line of what is known.
type fact struct {
	ids     []string
	verdict check.Verdict
	why     string
}

// either says that two requests at once find a gap in some runs only.
const either check.Verdict = "either"

// verdicts has the words of [implementation.known]. An echo is a check that fails for the reason of another one.
func verdicts() map[string]check.Verdict {
	return map[string]check.Verdict{"holds": check.Pass, "broken": check.Fail, "open": check.Incomplete, "either": either}
}

// recovery is the time for which a service may refuse what a crash interrupted.
const recovery = 3 * time.Second

// leastKnown bounds what has to be known of an implementation from below.
const leastKnown = 10

func (i *implementation) facts(tb testing.TB) []fact {
	tb.Helper()
	var all []fact
	seen := map[string]bool{}
	for line := range strings.Lines(i.known) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at := slices.IndexFunc(words, func(word string) bool { return verdicts()[word] != "" })
		if at < 1 || at == len(words)-1 {
			tb.Fatalf("%s: %q needs ids, a verdict and a reason", i.name, line)
		}
		for _, id := range words[:at] {
			if seen[id] || !slices.ContainsFunc(check.Catalog(), func(c check.Check) bool { return c.ID == id }) {
				tb.Fatalf("%s: %s is twice in the table, or no check", i.name, id)
			}
			seen[id] = true
		}
		all = append(all, fact{words[:at], verdicts()[words[at]], strings.Join(words[at+1:], " ")})
	}
	if len(seen) < leastKnown {
		tb.Fatalf("%s: %d verdicts are known, want %d at least", i.name, len(seen), leastKnown)
	}
	return all
}

// Every verdict that is known is found, and nothing else is held against a library or left open.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, i := range implementations() {
		t.Run(strings.NewReplacer("github.com/", "", "/", "-", " ", "-").Replace(i.label()), func(t *testing.T) {
			t.Parallel()
			facts := i.facts(t)
			if !i.quick && !claimtest.Long() {
				t.Skip("the long form examines this one: SEMEL_LONG=1")
			}
			compare(t, facts, i.examine(t))
		})
	}
}

func compare(tb testing.TB, facts []fact, report *check.Report) {
	tb.Helper()
	for i := range report.Results {
		one := &report.Results[i]
		got := one.Verdict
		if got == check.Echo {
			got = check.Fail
		}
		at := slices.IndexFunc(facts, func(f fact) bool { return slices.Contains(f.ids, one.ID) })
		switch {
		case at >= 0 && facts[at].verdict == either:
		case at >= 0 && got != facts[at].verdict:
			tb.Errorf("%s: got %q (%s), want %q: %s", one.ID, one.Verdict, one.Reason, facts[at].verdict, facts[at].why)
		case at < 0 && (one.Verdict == check.Fail || one.Verdict == check.Incomplete):
			tb.Errorf("%s: got %q (%s), which is not known of the library", one.ID, one.Verdict, one.Reason)
		}
	}
}

// examine runs the service and the checks.
func (i *implementation) examine(tb testing.TB) *check.Report {
	tb.Helper()
	service := i.start(tb)
	address := "http://" + service.Address
	total, err := effects.JSON(nil, address+"/count", "/total", nil)
	if err != nil {
		tb.Fatal(err)
	}
	order := func(body string) check.Template {
		return check.Template{
			Method: "POST", URL: address + "/orders", Body: []byte(body),
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
		}
	}
	failing := order(`{"item":"cursed {{n}}"}`)
	config := &check.Config{
		Template: order(`{"item":"book {{n}}"}`), Failing: &failing, Counters: []check.Counter{total},
		User: caller("ann"), Other: caller("bob"),
		Restart: service.Restart, Kill: service.Kill, Recovery: recovery, Level: check.LevelStrict,
	}
	if i.set != nil {
		i.set(config)
	}
	profile := i.profile
	if profile == "" {
		profile = "ietf"
	}
	return apps.Check(tb, profile, config)
}

func caller(name string) *check.User {
	return &check.User{Header: []wire.Field{{Name: "Authorization", Value: "Bearer " + name}}}
}

// modules is the folder with the libraries of npm in it.
var modules = apps.Modules("../../../../.cache/foreign")

// start runs the service.
func (i *implementation) start(tb testing.TB) *apps.Application {
	tb.Helper()
	command := apps.Command{Dir: tb.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}, Ready: "/count"}
	if i.env != nil {
		command.Env = append(command.Env, i.env(tb)...)
	}
	if i.from == "Go" {
		program := services(tb)
		command.Args = func(port string) []string { return []string{program, i.service, port} }
		return apps.Run(tb, command)
	}
	err := errors.Join(
		os.CopyFS(command.Dir, os.DirFS("testdata")),
		os.Symlink(filepath.Join(modules(tb), "node_modules"), filepath.Join(command.Dir, "node_modules")),
	)
	if err != nil {
		tb.Fatal(err)
	}
	command.Args = func(port string) []string { return []string{"node", i.service, port} }
	return apps.Run(tb, command)
}

// built is the program of services, built once for all tests, and without the race detector: it is not ours to search.
var built struct {
	sync.Once

	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func services(tb testing.TB) string {
	tb.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "semel-foreign-"); built.err != nil { //nolint:usetesting // for all tests
			return
		}
		cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), "go", "build", "-C", "services", "-o", built.dir, ".")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = errors.Join(err, errors.New(string(out)))
		}
	})
	if built.err != nil {
		tb.Fatalf("build the services: %v", built.err)
	}
	return filepath.Join(built.dir, "services")
}

// The versions in the table are those that are examined.
func TestVersions(t *testing.T) {
	t.Parallel()
	npm, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("services/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range implementations() {
		pinned, in := regexp.QuoteMeta(i.name)+`": "`+regexp.QuoteMeta(i.version)+`"`, npm
		if i.from == "Go" {
			pinned, in = regexp.QuoteMeta(i.name)+` `+regexp.QuoteMeta(i.version)+`\n`, mod
		}
		if !regexp.MustCompile(pinned).Match(in) {
			t.Errorf("%s %s is not what is examined", i.name, i.version)
		}
	}
}
