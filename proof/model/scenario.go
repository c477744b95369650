package main

import (
	"fmt"
	"slices"
)

// onUnknown is the policy for what is unknown or lapsed.
type onUnknown uint8

const (
	refuse onUnknown = iota
	rerun
	reconcile
)

// driftEvery: of so many ticks in a row, a host's clock loses at most one, as the
// margin of a tenth allows.
const driftEvery = 10

// scenario says what to explore, and how far: all that its parts can do, in every
// order, until nothing new is found.
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
	promises       []int
}

// scenarios returns those that `make model` explores.
func scenarios() []scenario {
	base := scenario{
		hosts: 2, intents: 1, attempts: 3, places: 1, requests: 1, lease: 2, retention: 2,
		waiters: maxHosts, roles: []role{client}, pauses: true, renews: true, promises: []int{1, 2, 3, 7, 10},
	}
	with := func(name, says string, change func(*scenario)) scenario {
		sc := base
		sc.name, sc.says = name, says
		sc.promises = slices.Clone(base.promises)
		change(&sc)
		return sc
	}
	return []scenario{
		with("refuse", "what is unknown stays unknown (the default)", func(sc *scenario) {
			sc.promises = append(sc.promises, 9)
		}),
		with("rerun", "what is unknown runs again; downstream checks the fence", func(sc *scenario) {
			sc.onUnknown, sc.downstream, sc.lease, sc.retention, sc.renews = rerun, true, 1, 1, false
		}),
		with("reconcile", "what is unknown is looked for first", func(sc *scenario) {
			sc.onUnknown, sc.lease, sc.retention, sc.places = reconcile, 1, 1, 0
		}),
		with("operator", "an operator resolves and cancels while clients work", func(sc *scenario) {
			sc.roles = []role{client, canceller, completer, releaser}
			sc.lease, sc.retention, sc.renews, sc.places = 1, 1, false, 0
		}),
		with("mismatch", "one key for two different requests; what is unknown runs again", func(sc *scenario) {
			sc.requests, sc.onUnknown, sc.places = 2, rerun, 0
			sc.lease, sc.retention, sc.renews, sc.pauses = 1, 1, false, false
			sc.promises = append(sc.promises, 6)
		}),
		with("scopes", "two intents, which must not touch", func(sc *scenario) {
			sc.intents, sc.attempts, sc.lease, sc.retention, sc.renews, sc.pauses = 2, 2, 1, 1, false, false
			sc.promises = append(sc.promises, 5)
		}),
		with("clocks", "hosts' clocks run slower than the store's, by a tenth", func(sc *scenario) {
			sc.hosts, sc.attempts, sc.lease, sc.drift, sc.retention = 1, 2, 10, true, 1
			sc.promises = append(sc.promises, 9)
		}),
		with("waiters", "three attempts at a time, of which one may wait", func(sc *scenario) {
			sc.hosts, sc.waiters, sc.places = 3, 1, 0
			sc.lease, sc.retention, sc.renews, sc.pauses = 1, 1, false, false
			sc.promises = append(sc.promises, 8)
		}),
		with("transaction", "claim, effect and outcome are one commit", func(sc *scenario) {
			sc.hosts, sc.attempts, sc.roles, sc.places = 3, 4, []role{transactor}, 2
			sc.promises = []int{2, 4}
		}),
	}
}

// bound prints the scenario's bound.
func (sc *scenario) bound() string {
	return fmt.Sprintf("%d hosts, %d intents, %d attempts, %d late requests, lease %d ticks, retention %d ticks",
		sc.hosts, sc.intents, sc.attempts, sc.places, sc.lease, sc.retention)
}

// smaller returns the scenario with two attempts, for tests. Where one of three
// may wait, none of two may.
func (sc scenario) smaller() scenario {
	sc.attempts = 2
	if sc.waiters < sc.hosts-1 {
		sc.waiters--
	}
	sc.places = min(sc.places, 1)
	if sc.drift || sc.intents > 1 {
		sc.places = 0
	}
	return sc
}

// model is a scenario with the protocol.
type model struct{ scenario }
