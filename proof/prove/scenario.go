package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

const (
	children     = 3
	longestLease = 300 * time.Millisecond
	// tenYears is a retention that no jump of a clock ends.
	tenYears = 10 * 365 * 24 * time.Hour
)

// The kinds of scenarios.
const (
	kindStore       = "store"
	kindClock       = "clock"
	kindGuard       = "guard"
	kindTransaction = "transaction"
	kindGateway     = "gateway"
	kindSoak        = "soak"
)

// The stores.
const (
	postgres = "postgres"
	mysql    = "mysql"
	redis    = "redis"
	sqlite   = "sqlite"
	logged   = "log"
)

// scenario is a kind on a store.
type scenario struct{ kind, store string }

func (sc scenario) name() string { return sc.kind + "/" + sc.store }

func scenarios() (all []scenario) {
	for _, kind := range []string{kindStore, kindClock, kindGuard, kindTransaction, kindGateway, kindSoak} {
		for _, store := range []string{postgres, mysql, redis, sqlite, logged} {
			if kind != kindTransaction || store != redis && store != logged {
				all = append(all, scenario{kind, store})
			}
		}
	}
	return all
}

// inFiles reports whether the store has no server, whose processes could crash or whose connections could break.
func (sc scenario) inFiles() bool { return sc.store == sqlite || sc.store == logged }

// promises returns the numbers from docs/guarantees.md that the scenario attacks.
func (sc scenario) promises() []int {
	return map[string][]int{
		kindStore: {1, 2, 3, 9}, kindClock: {1, 2, 9}, kindGuard: {1, 2, 3, 7}, kindTransaction: {2, 3, 4, 7}, kindGateway: {1, 2, 3, 7, 10}, kindSoak: {2, 3, 7, 8},
	}[sc.kind]
}

// share returns how long the scenario takes, relative to the others: processes
// that serve HTTP need longer to start.
func (sc scenario) share() int {
	if sc.kind == kindGateway {
		return 2
	}
	return 1
}

// target names the store that the scenario is played on. Scenarios share a server,
// except one whose clock jumps or whose files are measured. A file of transactions also holds business rows.
func (sc scenario) target() string {
	if sc.kind == kindClock || sc.kind == kindSoak || sc.kind == kindTransaction && sc.store == sqlite {
		return sc.name()
	}
	return sc.store
}

// faults returns the faults that are injected side by side.
func (sc scenario) faults() []string {
	switch {
	case sc.kind == kindClock:
		return []string{faultClock}
	case sc.kind == kindSoak && sc.inFiles():
		return []string{faultKill}
	case sc.kind == kindSoak:
		return []string{faultKill, faultCut, faultCrash}
	case sc.inFiles():
		return []string{faultKill, faultPause}
	}
	return []string{faultKill, faultPause, faultCut, faultCrash}
}

// terms fit the faults: leases end while a process is stopped, and some records
// expire while they are asked about.
func (sc scenario) terms() terms {
	t := terms{
		Leases:     []int64{50, 120, longestLease.Milliseconds()},
		Retentions: []int64{100, 500, tenYears.Milliseconds()},
	}
	if sc.kind == kindClock {
		t.Retentions = []int64{time.Hour.Milliseconds(), tenYears.Milliseconds(), tenYears.Milliseconds()}
	}
	return t
}

// stage plays scenarios.
type stage struct {
	self   string // this program
	binary string // semel
	dir    string // for files
	out    string // for histories that break a promise
	log    io.Writer
	seed   uint64
}

// cast are the processes of a scenario, which suffer its faults.
type cast struct {
	children []*child
	soak     *soak        // nil in most kinds
	end      func() error // lets them finish, or kills them
}

// play lets processes ask while faults are injected, and judges the answers.
func (st *stage) play(ctx context.Context, sc scenario, p *target, long time.Duration) (result, error) {
	r := result{scenario: sc}
	if err := os.Mkdir(st.dir, 0o700); err != nil {
		return r, err
	}
	e := errand{
		Kind: sc.kind, Store: sc.store, DSN: p.dsn, Clock: p.clock, Jumps: p.set != nil, Dir: st.dir, Run: filepath.Base(st.dir), Began: monotonic(),
		Seed: st.seed, Hands: hands, Terms: sc.terms(), Witness: filepath.Join(st.dir, "effects"),
	}
	if sc.kind == kindTransaction {
		if err := makeEffects(ctx, p); err != nil {
			return r, err
		}
	}
	c := &clocks{offsets: [2]int64{wallOffset()}, removes: sc.store == redis}
	company, err := st.cast(ctx, e, p, long)
	if err != nil {
		return r, err
	}
	in := &injector{target: p, children: company.children, rarely: sc.kind == kindSoak, random: rand.New(rand.NewPCG(st.seed, 0))} //nolint:gosec // instants, not secrets.
	err = in.injectFor(ctx, long, sc.faults())
	if err = errors.Join(err, company.end()); err != nil {
		return r, err
	}
	c.offsets[1] = wallOffset()
	c.behind, c.ahead = in.behind.Milliseconds(), in.ahead.Milliseconds()
	r.faults, r.kills = in.injected, in.killed
	if err = st.judge(ctx, &r, &e, p, c); err != nil || company.soak == nil {
		return r, err
	}
	company.soak.judge(&r, long)
	return r, company.soak.series.write(filepath.Join(st.out, sc.kind+"-"+sc.store+".csv"))
}

// cast starts the processes.
func (st *stage) cast(ctx context.Context, e errand, p *target, long time.Duration) (*cast, error) {
	switch e.Kind {
	case kindGateway:
		e.Hands = callers
		return st.gateways(ctx, e, p, long)
	case kindSoak:
		e.Hands = soakCallers
		return st.gateways(ctx, e, p, long)
	}
	company := &cast{}
	if e.Store == logged { // it belongs to one process, which does the work of all
		e.Hands *= children
	}
	for e.Index = range children * hands / e.Hands {
		c := st.child(e)
		if err := c.up(ctx); err != nil {
			return nil, err
		}
		company.children = append(company.children, c)
	}
	opening, cancel := context.WithTimeout(ctx, childEnd) // a busy machine takes longer to start them than some scenarios take
	defer cancel()
	for _, c := range company.children {
		c.working(opening)
	}
	company.end = func() (err error) {
		for _, c := range company.children {
			err = errors.Join(err, c.end())
		}
		return err
	}
	return company, nil
}

// judge checks what the processes recorded, and enters it into the result.
func (st *stage) judge(ctx context.Context, r *result, e *errand, p *target, c *clocks) error {
	out := filepath.Join(st.out, r.scenario.kind+"-"+r.scenario.store)
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // for people.
		return err
	}
	defer func() { _ = os.Remove(out) }() // unless something is in it
	if e.Kind == kindStore || e.Kind == kindClock {
		steps, err := readSteps[call, reply](st.dir)
		if err != nil {
			return err
		}
		return judge(r, steps, c, out)
	}
	steps, err := readSteps[wish, word](st.dir)
	if err != nil {
		return err
	}
	found, err := e.effects(ctx, p)
	if err != nil {
		return err
	}
	if e.Kind == kindTransaction {
		if r.violations, err = checkRecords(ctx, e, p, found); err != nil {
			return err
		}
	}
	return judgeAnswers(r, steps, found, out)
}
