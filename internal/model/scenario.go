package main

import (
	"fmt"

	"github.com/semel-dev/semel/internal/machine"
)

// onUnknown is the policy for what is unknown or lapsed.
type onUnknown uint8

const (
	refuse onUnknown = iota
	rerun
	reconcile
)

// driftEvery: of so many ticks in a row, a host's clock loses at most one. It
// is what the margin of a tenth allows for.
const driftEvery = 10

// scenario is what is explored, and how far: everything that its parts can do,
// in every order, until nothing new is found.
type scenario struct {
	name string
	says string

	hosts, intents int
	attempts       int   // begun in all, the operator's acts among them
	places         int   // late requests under way at a time
	requests       uint8 // different fingerprints
	lease          uint8 // ticks
	retention      uint8 // ticks, of every settled record and beyond a lapsed lease
	waiters        int   // who may wait for a twin of one intent at a time
	roles          []role
	onUnknown      onUnknown
	renews         bool // there is a heartbeat
	pauses         bool // holders are held up and do not notice
	drift          bool // hosts' clocks are slower than the store's, within driftEvery
	downstream     bool // the effect goes to a system that refuses a stale fence
}

// scenarios are what `make model` explores.
func scenarios() []scenario {
	base := scenario{
		hosts: 2, intents: 1, attempts: 3, places: 1, requests: 1, lease: 2, retention: 2,
		waiters: maxHosts, roles: []role{client}, pauses: true, renews: true,
	}
	with := func(name, says string, change func(*scenario)) scenario {
		sc := base
		sc.name, sc.says = name, says
		change(&sc)
		return sc
	}
	return []scenario{
		with("refuse", "what is unknown stays unknown (the default)", func(*scenario) {}),
		with("rerun", "what is unknown runs again; downstream checks the fence", func(sc *scenario) {
			sc.onUnknown, sc.downstream, sc.lease, sc.retention, sc.renews = rerun, true, 1, 1, false
		}),
		with("reconcile", "what is unknown is looked for first", func(sc *scenario) {
			sc.onUnknown, sc.lease, sc.retention, sc.places = reconcile, 1, 1, 0
		}),
		with("operator", "beside the clients somebody resolves and cancels", func(sc *scenario) {
			sc.roles = []role{client, canceller, completer, releaser}
			sc.lease, sc.retention, sc.renews, sc.places = 1, 1, false, 0
		}),
		with("mismatch", "one key for two different requests; what is unknown runs again", func(sc *scenario) {
			sc.requests, sc.onUnknown, sc.places = 2, rerun, 0
			sc.lease, sc.retention, sc.renews, sc.pauses = 1, 1, false, false
		}),
		with("scopes", "two intents, which must not touch", func(sc *scenario) {
			sc.intents, sc.attempts, sc.lease, sc.retention, sc.renews, sc.pauses = 2, 2, 1, 1, false, false
		}),
		with("clocks", "hosts' clocks run slower than the store's, by a tenth", func(sc *scenario) {
			sc.hosts, sc.attempts, sc.lease, sc.drift, sc.retention = 1, 2, 10, true, 1
		}),
		with("waiters", "three attempts at a time, of which one may wait", func(sc *scenario) {
			sc.hosts, sc.waiters, sc.places = 3, 1, 0
			sc.lease, sc.retention, sc.renews, sc.pauses = 1, 1, false, false
		}),
		with("transaction", "claim, effect and outcome are one commit", func(sc *scenario) {
			sc.hosts, sc.attempts, sc.roles, sc.places = 3, 4, []role{transactor}, 2
		}),
	}
}

// bound is the scenario's bound, for people.
func (sc *scenario) bound() string {
	return fmt.Sprintf("%d hosts, %d intents, %d attempts, %d late requests, lease %d ticks, retention %d ticks",
		sc.hosts, sc.intents, sc.attempts, sc.places, sc.lease, sc.retention)
}

// smaller is the scenario with one attempt less, for tests.
func (sc scenario) smaller() scenario {
	sc.attempts = 2
	sc.places = min(sc.places, 1)
	if sc.drift || sc.intents > 1 {
		sc.places = 0
	}
	return sc
}

// model is a scenario with the protocol, less the lines that were taken out.
type model struct {
	scenario
	table   machine.Table
	lacking line
}

// line is a check that the guard makes by the order of its steps, not by the
// table.
type line uint16

const (
	// lineScope: the scope is part of the digest.
	lineScope line = 1 << iota
	// lineClaimFirst: without a claim, nothing is executed.
	lineClaimFirst
	// lineTrustFromAsking: a lease is trusted from before it was asked for.
	lineTrustFromAsking
	// lineTrustWhatIsLeft: of a claim that a late copy of the request had won
	// before, only what is left of its lease is trusted.
	lineTrustWhatIsLeft
	// lineRecordFirst: "done" is said after it is recorded.
	lineRecordFirst
	// lineDownstream: the downstream system refuses a stale fence.
	lineDownstream
	// lineOneCommit: business rows and outcome are one commit.
	lineOneCommit
	// lineCommitLock: after a lost commit, the claim waits for the first
	// transaction's end.
	lineCommitLock
	// lineWaiters: there is room for so many who wait.
	lineWaiters
)

func (m *model) without(l line) bool { return m.lacking&l != 0 }

// removal takes one line of the protocol out.
type removal struct {
	name     string
	scenario string // where it is missed
	promise  int    // what breaks
	table    machine.Line
	line     line
}

func removals() []removal {
	return []removal{
		{name: "fence check in settle", scenario: "rerun", promise: 1, table: machine.LineSettleFence},
		{name: "fence check in renew", scenario: "refuse", promise: 1, table: machine.LineRenewFence},
		{name: "sweep order", scenario: "refuse", promise: 1, table: machine.LineSweepExpiry},
		{name: "lapse rule", scenario: "reconcile", promise: 1, table: machine.LineLapse},
		{name: "owner check on repeat", scenario: "refuse", promise: 1, table: machine.LineRepeatOwner},
		{name: "trust margin", scenario: "clocks", promise: 9, table: machine.LineTrustMargin},
		{name: "tombstone", scenario: "operator", promise: 3, table: machine.LineTombstone},
		{name: "fingerprint check", scenario: "mismatch", promise: 6, table: machine.LineFingerprint},
		{name: "trust from asking", scenario: "refuse", promise: 9, line: lineTrustFromAsking},
		{name: "trust what is left", scenario: "refuse", promise: 9, line: lineTrustWhatIsLeft},
		{name: "settle before reply", scenario: "refuse", promise: 7, line: lineRecordFirst},
		{name: "claim before work", scenario: "refuse", promise: 10, line: lineClaimFirst},
		{name: "scope in the digest", scenario: "scopes", promise: 5, line: lineScope},
		{name: "fence check downstream", scenario: "rerun", promise: 1, line: lineDownstream},
		{name: "one commit", scenario: "transaction", promise: 4, line: lineOneCommit},
		{name: "lock until the commit", scenario: "transaction", promise: 4, line: lineCommitLock},
		{name: "bound of waiters", scenario: "waiters", promise: 8, line: lineWaiters},
	}
}
