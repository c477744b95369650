// Package check finds out from outside whether an API survives being called
// twice: it sends one intent again and again, in all the ways in which that
// happens in the wild, and looks what became of it.
//
//	plan, err := check.NewPlan(check.Config{Template: …, Profile: …, Oracles: …})
//	// plan.Requests is the most that will be sent
//	report, err := plan.Run(ctx)
//
// The walk of a run:
//
//	NewPlan ─ sample (two intents, once each) ─ each check ─ Report
//	  │             │                             │
//	  │             │                             └ intent ─ send, again … ─ answers alike? ─ oracle: one effect?
//	  │             └ what differs between two intents may differ between two answers of one
//	  └ chooses the checks and counts their requests: more are never sent
//
// Answers can lie, so an [Oracle] counts effects. Where there is none, a check
// that needs one is [Incomplete], and never [Pass]. Requests go out by package
// wire, which sends exactly what it is given, exactly once.
//
// A check is a row of [Catalog] and a function beside it. Its id never changes
// its meaning; a check that asks something else gets a new one.
package check
