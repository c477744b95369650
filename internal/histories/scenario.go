package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/semel-dev/semel/internal/mayhem"
)

const (
	children     = 3
	longestLease = 300 * time.Millisecond
	// tenYears is a retention that no jump of a clock ends.
	tenYears = 10 * 365 * 24 * time.Hour
)

// scenario is a store and a fault.
type scenario struct{ store, fault string }

func (sc scenario) name() string { return sc.store + "/" + sc.fault }

// scenarios are all of them.
func scenarios() []scenario {
	var all []scenario
	for _, store := range []string{"postgres", "mysql", redis} {
		for _, fault := range []string{faultKill, faultPause, faultCut, faultCrash, faultClock, faultEvery, faultGuard} {
			all = append(all, scenario{store, fault})
		}
	}
	for _, fault := range []string{faultKill, faultPause, faultClock, faultGuard} {
		all = append(all, scenario{sqlite, fault})
	}
	return all
}

// kinds are the faults that are injected side by side.
func (sc scenario) kinds() []string {
	switch sc.fault {
	case faultEvery:
		return []string{faultKill, faultPause, faultCut, faultCrash}
	case faultGuard:
		return []string{faultKill, faultPause, faultPause}
	case faultPause:
		return []string{faultPause, faultPause}
	}
	return []string{sc.fault}
}

// promises are those of docs/guarantees.md that the scenario attacks.
func (sc scenario) promises() []int {
	switch sc.fault {
	case faultGuard:
		return []int{1, 2, 3, 7}
	case faultClock:
		return []int{1, 2, 9}
	}
	return []int{1, 2, 3, 9}
}

// terms fit the faults: leases end while somebody is stopped, and some records
// expire while they are asked about.
func (sc scenario) terms() terms {
	t := terms{
		Leases:     []int64{50, 120, longestLease.Milliseconds()},
		Retentions: []int64{100, 500, tenYears.Milliseconds()},
	}
	if sc.fault == faultClock {
		t.Retentions = []int64{time.Hour.Milliseconds(), tenYears.Milliseconds(), tenYears.Milliseconds()}
	}
	return t
}

// stage is where one scenario is played.
type stage struct {
	self string // this program
	dir  string // for files
	out  string // for what is wrong
	log  io.Writer
	seed uint64
}

// play lets children ask while faults are injected, and judges what they were
// told.
func (st *stage) play(ctx context.Context, sc scenario, p *place, long time.Duration) (result, error) {
	random := rand.New(rand.NewPCG(st.seed, 0)) //nolint:gosec // instants, not secrets.
	in := &injector{place: p, random: random}
	e := errand{
		DSN: p.dsn, Clock: p.clock, Jumps: p.set != nil, Dir: st.dir, Run: filepath.Base(st.dir), Began: monotonic(), Seed: st.seed, Terms: sc.terms(),
	}
	if sc.fault == faultGuard {
		e.Witness = filepath.Join(st.dir, "effects")
	}
	c := &clocks{offsets: [2]int64{wallOffset()}, removes: sc.store == redis}
	for e.Index = range children {
		child, err := st.child(ctx, e)
		if err != nil {
			return result{}, err
		}
		in.children = append(in.children, child)
	}
	err := in.run(ctx, long, sc.kinds())
	for _, child := range in.children {
		err = errors.Join(err, child.End())
	}
	if err != nil {
		return result{}, err
	}
	c.offsets[1] = wallOffset()
	c.behind, c.ahead = in.behind.Milliseconds(), in.ahead.Milliseconds()
	j, err := st.judge(sc, c, e.Witness)
	return newResult(sc, in.injected, &j), err
}

// child starts a process of this program that does the errand.
func (st *stage) child(ctx context.Context, e errand) (*mayhem.Child, error) {
	arg, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	child := &mayhem.Child{Log: st.log, Start: func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, st.self, childWord, string(arg)) //nolint:gosec // this program.
	}}
	return child, child.Up(ctx)
}

func (st *stage) judge(sc scenario, c *clocks, witness string) (judgement, error) {
	out := filepath.Join(st.out, sc.store+"-"+sc.fault)
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // for people.
		return judgement{}, err
	}
	defer func() { _ = os.Remove(out) }() // unless something is in it
	if witness == "" {
		steps, err := readSteps[call, reply](st.dir)
		if err != nil {
			return judgement{}, err
		}
		return judge(steps, c, out)
	}
	steps, err := readSteps[wish, word](st.dir)
	if err != nil {
		return judgement{}, err
	}
	return judgeAnswers(steps, witness, out)
}

// judgeAnswers is [judge] for a guard.
func judgeAnswers(steps []guardStep, witness, out string) (j judgement, err error) {
	f, err := os.Open(witness) //nolint:gosec // of our own folder.
	if err != nil {
		return j, err
	}
	found, err := readEffects(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return j, fmt.Errorf("read the effects: %w", err)
	}
	j.operations, j.violations = len(steps), checkAnswers(steps, found)
	keys := map[string]bool{}
	for _, s := range steps {
		if s.Reply == nil {
			j.pending++
		}
		keys[s.Call.Key] = true
	}
	j.histories = len(keys)
	if len(j.violations) > 0 {
		err = writeSteps(out, "answers", steps)
	}
	return j, err
}
