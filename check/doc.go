// Package check finds out from outside whether an API survives being called
// twice: it sends one intent again and again, in all the ways in which that
// happens in the wild, and checks the outcome.
//
//	plan, err := check.NewPlan(check.Config{Template: …, Profile: …, Counters: …})
//	// plan.Requests is the most that will be sent to the service under test
//	report, err := plan.Run(ctx)
//
// The walk of a run:
//
//	NewPlan ─ counts are steady ── sample (two intents, once each) ─ each check ─ control ─ Report
//	  │         (control.go)            │                             │            │
//	  │                                 │                             │            └ saw nothing? is the service still there?
//	  │                                 │                             └ intent ─ send, again … ─ answers alike? ─ counter: one effect?
//	  │                                 └ what differs between two intents may differ between two answers of one
//	  └ chooses the checks and counts their requests: more are never sent
//
// Answers can lie, so a [Counter] counts effects. Where there is none, a check
// that needs one is [Incomplete], and never [Pass]. Requests go out by package
// wire, which sends exactly what it is given, exactly once.
//
// A check is a row of [Catalog] and a function next to it. Its id never changes
// its meaning; a check that asks something else gets a new one. What checks work
// with:
//
//	probe.go, volley.go       sending: one attempt, some in parallel, many at the same moment
//	attempt.go                an intent that was executed once, before the check begins
//	intent.go, login.go, …    the same wish in every attempt: key, values, user, cookies, page
//	compare.go, volatile.go   is this the same answer, except for what is generated each time?
//	marks.go                  does it belong to another user or another intent?
//	effects.go                how many effects since then, and is that the right number?
//	retry.go                  sending again as a patient client does
//	mask.go, evidence.go      what a report keeps, with secrets masked
//
// The packages below: source reads the request, effects and observe count, operate
// restarts the service, webform fills in pages, wire sends, and report writes.
package check
