package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

const (
	sharers      = 3  // processes
	sharedKeys   = 60 // intents that they fight over
	sharedRounds = 3
	kills        = 3
	mostKills    = 30 // a busy machine may acknowledge nothing before a kill
)

// Processes is a store that several processes share.
type Processes struct {
	// Name tells this value from the others that [Children] is given.
	Name string
	// Place makes an empty place for records, such as a path or a data source
	// name.
	Place func(testing.TB) string
	// Open opens the store of a place. It is also called in other processes.
	Open func(ctx context.Context, place string) (semel.Store, error)
	// Check looks at the integrity of a place. nil means nothing to check.
	Check func(tb testing.TB, place string)
	// Single says that one process at a time can have a place open: only kills are
	// tested.
	Single bool
	// Strike kills the server behind the store and starts it again; the store
	// is then tested against that alone. nil kills processes that use the store.
	Strike func(testing.TB)
	// Disturb breaks connections to a place until end is called; the store is
	// then tested against that alone. nil leaves them whole.
	Disturb func(tb testing.TB, place string) (end func())
	// Do executes an intent once, in a transaction that also writes a row with
	// its name, and returns an answer that no other execution has. nil means
	// that the store has no transactions.
	Do func(ctx context.Context, g *semel.Guard, name string) (string, error)
	// Rows returns how many rows of each name a place has, when the server has
	// ended what killed processes left. Do needs it.
	Rows func(tb testing.TB, place string) map[string]int
}

// RunProcesses checks what holds between processes: a place can be opened by
// many at once, each intent is won once (promise 1), and a process that is
// killed at any instant loses nothing that was acknowledged and locks nothing
// (promises 1 and 2), neither a row without its record nor a record without its
// row (promise 4); nor does a connection that breaks. TestMain must call
// [Children].
func RunProcesses(t *testing.T, p Processes) {
	t.Helper()
	tests := map[string]func(*testing.T, *Processes){
		"opening": testOpening, "share": testShare, "killed": testKilled, "killed-in-transactions": testKilledWork,
	}
	switch {
	case p.Disturb != nil:
		tests = map[string]func(*testing.T, *Processes){"disturbed": testDisturbed, "disturbed-in-transactions": testDisturbedWork}
	case p.Strike != nil, p.Single:
		delete(tests, "opening")
		delete(tests, "share")
	}
	for name, test := range tests {
		if p.Do == nil && strings.HasSuffix(name, "-in-transactions") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if p.Strike == nil && p.Disturb == nil { // whatever is broken is broken by one test at a time
				t.Parallel()
			}
			test(t, &p)
		})
	}
}

// noError ends the test unless err is nil.
func noError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (p *Processes) open(t *testing.T, place string) semel.Store {
	t.Helper()
	s, err := p.Open(t.Context(), place)
	noError(t, err)
	return s
}

func (p *Processes) done(t *testing.T, place string, s semel.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if p.Check != nil {
		p.Check(t, place)
	}
}

// An opener that races with others to create a place finds it complete.
func testOpening(t *testing.T, p *Processes) {
	t.Helper()
	place := p.Place(t)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			s, err := p.Open(t.Context(), place)
			if err != nil {
				t.Error(err)
				return
			}
			_, won, err := s.Claim(t.Context(), p.params(fmt.Sprint("k", i)))
			if err != nil || !won {
				t.Errorf("won %v, error %v", won, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p.done(t, place, p.open(t, place))
}

// child is a process and what it prints.
type child struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

func (p *Processes) start(t *testing.T, verb string, args ...string) child {
	t.Helper()
	cmd := Command(t, p.Name+" "+verb, args...)
	if p.Strike != nil {
		cmd.Stderr = nil // it complains
	}
	in, err := cmd.StdinPipe()
	noError(t, err)
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	return child{cmd, in, bufio.NewReader(out)}
}

// The place is empty at first, so the processes also race to create it.
func testShare(t *testing.T, p *Processes) {
	t.Helper()
	place := p.Place(t)
	children := make([]child, sharers)
	for i := range children {
		children[i] = p.start(t, "share", place)
	}
	for i, c := range children {
		if line, err := c.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Errorf("process %d: got %q, error %v", i, line, err)
		}
	}
	for _, c := range children {
		_ = c.in.Close()
	}
	heard := make([][]said, sharers)
	var wg sync.WaitGroup
	for i, c := range children {
		wg.Go(func() {
			listen(c.out, func(s said) { heard[i] = append(heard[i], s) })
			if err := c.cmd.Wait(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if p.Do != nil {
		wantOneAnswer(t, heard, p.Rows(t, place))
	}
	s := p.open(t, place)
	wantShared(t, s, heard)
	p.done(t, place, s)
}

// wantShared fails unless each intent was completed once, no fence was given
// twice, each process saw its fences grow, and the outcomes are the winners'.
func wantShared(t *testing.T, s semel.Store, heard [][]said) { //nolint:gocognit // it is one list of wishes.
	t.Helper()
	fences, winners := map[string]string{}, map[string]string{}
	for i, lines := range heard {
		last := uint64(0)
		for _, line := range lines {
			if line.verb == "answer" {
				continue
			}
			if other := fences[line.word]; other != "" {
				t.Errorf("fence %s was given for %s and %s", line.word, other, line.name)
			}
			fences[line.word] = line.name
			fence, err := strconv.ParseUint(line.word, 10, 64)
			if err != nil || fence <= last {
				t.Errorf("process %d won with fence %s after %d, error %v", i, line.word, last, err)
			}
			last = fence
			if line.verb != "done" {
				continue
			}
			if winners[line.name] != "" {
				t.Errorf("%s was completed twice", line.name)
			}
			winners[line.name] = line.word
		}
	}
	for i := range sharedKeys {
		name := fmt.Sprint("k", i)
		key := semel.Key{Scope: "processes", Name: name}
		rec, err := s.Lookup(t.Context(), key.Digest())
		if err != nil || winners[name] != fmt.Sprint(rec.Fence) || rec.State != semel.StateCompleted {
			t.Errorf("%s: got %v with fence %d, error %v, want what the winner with fence %q settled", name, rec.State, rec.Fence, err, winners[name])
		}
	}
}

// wantOneAnswer fails unless all processes got the same answer for an intent,
// and it has one row.
func wantOneAnswer(t *testing.T, heard [][]said, rows map[string]int) {
	t.Helper()
	answers := map[string]string{}
	for _, lines := range heard {
		for _, line := range lines {
			if line.verb != "answer" {
				continue
			}
			if other := answers[line.name]; other != "" && other != line.word {
				t.Errorf("%s: got %q and %q", line.name, other, line.word)
			}
			answers[line.name] = line.word
			if rows[line.name] != 1 {
				t.Errorf("%s has %d rows, want 1", line.name, rows[line.name])
			}
		}
	}
	if len(answers) != sharedKeys {
		t.Errorf("%d intents were answered, want %d", len(answers), sharedKeys)
	}
}

// kill lets a process do a verb until it or the server behind its store is
// killed at some instant after its first line, and gives every line to heard.
func (p *Processes) kill(t *testing.T, verb, place, prefix string, heard func(said)) {
	t.Helper()
	c := p.start(t, verb, place, prefix)
	if _, err := c.out.Peek(1); err != nil {
		t.Errorf("the process prints nothing: %v", err)
	}
	struck := make(chan struct{})
	time.AfterFunc(time.Duration(20+rand.IntN(130))*time.Millisecond, func() { //nolint:gosec // a test repeats it by its seed.
		defer close(struck)
		if p.Strike != nil {
			p.Strike(t)
		}
		_ = c.cmd.Process.Kill()
	})
	listen(c.out, heard)
	<-struck
	err := c.cmd.Wait()
	if err == nil || (p.Strike == nil && err.Error() != "signal: killed") {
		t.Errorf("the process ended on its own: %v", err)
	}
}

// acknowledged holds the lines of killed processes.
type acknowledged struct {
	claimed, settled map[string]string // fences by name
	fences           map[string]string // names by fence
	highest          uint64
}

func (a *acknowledged) hear(t *testing.T, s said) {
	t.Helper()
	if s.verb == "settled" {
		a.settled[s.name] = s.word
		return
	}
	fence, err := strconv.ParseUint(s.word, 10, 64)
	if other := a.fences[s.word]; other != "" || err != nil {
		t.Errorf("fence %s was given to %s and %s, error %v", s.word, other, s.name, err)
	}
	a.claimed[s.name], a.fences[s.word] = s.word, s.name
	a.highest = max(a.highest, fence)
}

func (a *acknowledged) want(t *testing.T, s semel.Store) {
	t.Helper()
	for name, fence := range a.claimed {
		key := semel.Key{Scope: "processes", Name: name}
		rec, err := s.Lookup(t.Context(), key.Digest())
		if err != nil || fmt.Sprint(rec.Fence) != fence {
			t.Fatalf("%s: got fence %d, error %v, want the acknowledged claim %s", name, rec.Fence, err, fence)
		}
		if a.settled[name] != "" && (rec.State != semel.StateCompleted || string(rec.Outcome) != string(outcomeOf(name).Outcome)) {
			t.Fatalf("%s: got %v with %q, want the acknowledged outcome", name, rec.State, rec.Outcome)
		}
	}
}

func testKilled(t *testing.T, p *Processes) {
	t.Helper()
	place := p.Place(t)
	all := &acknowledged{claimed: map[string]string{}, settled: map[string]string{}, fences: map[string]string{}}
	for round := 0; round < kills || len(all.settled) == 0 && round < mostKills; round++ {
		p.kill(t, "cycle", place, fmt.Sprint("round", round), func(s said) { all.hear(t, s) })
		s := p.open(t, place)
		after := p.params(fmt.Sprint("after", round))
		rec, won, err := s.Claim(t.Context(), after)
		if err != nil || !won || uint64(rec.Fence) <= all.highest {
			t.Fatalf("claim after the kill: won %v, error %v, fence %d, want > %d", won, err, rec.Fence, all.highest)
		}
		all.hear(t, said{"claimed", after.Name, fmt.Sprint(rec.Fence)})
		all.want(t, s)
		p.done(t, place, s)
	}
	t.Logf("%d claims, %d settlements", len(all.claimed), len(all.settled))
	if len(all.settled) == 0 {
		t.Error("no settlement was acknowledged: the test showed nothing")
	}
}

// testKilledWork kills processes that work on the same intents.
func testKilledWork(t *testing.T, p *Processes) {
	t.Helper()
	place := p.Place(t)
	answered, twins := map[string]bool{}, 2
	if p.Strike != nil {
		twins = 1 // they would strike at once
	}
	for round := 0; round < kills || len(answered) == 0 && round < mostKills; round++ {
		var mu sync.Mutex // guards answered
		var wg sync.WaitGroup
		for range twins {
			wg.Go(func() {
				p.kill(t, "work", place, fmt.Sprint("round", round), func(s said) {
					mu.Lock()
					defer mu.Unlock()
					answered[s.name] = true
				})
			})
		}
		wg.Wait()
		rows := p.Rows(t, place)
		s := p.open(t, place)
		wantRowsOfRecords(t, s, rows, answered)
		p.done(t, place, s)
	}
	t.Logf("%d answers", len(answered))
	if len(answered) == 0 {
		t.Error("nothing was answered: the test showed nothing")
	}
}

// wantRowsOfRecords fails unless every row has its completed record, every
// record its row, once, and all that was answered is there.
func wantRowsOfRecords(t *testing.T, s semel.Store, rows map[string]int, answered map[string]bool) {
	t.Helper()
	lister, ok := semel.StoreAs[semel.Lister](s)
	if !ok {
		t.Fatal("the store is not a semel.Lister")
	}
	records := 0
	for p := (semel.ListParams{}); ; {
		page, err := lister.List(t.Context(), p)
		noError(t, err)
		for _, rec := range page.Records {
			records++
			if rec.State != semel.StateCompleted || rows[rec.Name] != 1 {
				t.Errorf("the record of %s is %v, and it has %d rows", rec.Name, rec.State, rows[rec.Name])
			}
		}
		if p.After = page.Next; p.After == "" {
			break
		}
	}
	if records != len(rows) {
		t.Errorf("%d records, but rows of %d names", records, len(rows))
	}
	for name := range answered {
		if rows[name] != 1 {
			t.Errorf("%s was answered, but has %d rows", name, rows[name])
		}
	}
}
