package check

import (
	"context"
	"slices"
	"time"
)

// Level says how much a check matters.
type Level string

// The levels; the first two as in RFC 2119. Strict checks go beyond what standards ask for and run with [LevelStrict]
// only.
const (
	LevelMust   Level = "MUST"
	LevelShould Level = "SHOULD"
	LevelStrict Level = "STRICT"
)

func (l Level) weight() int { return slices.Index([]Level{LevelMust, LevelShould, LevelStrict}, l) }

// The groups, in the order in which they run.
const (
	groupBasics      = "basics"
	groupKeySyntax   = "keys"
	groupMismatch    = "mismatch"
	groupConcurrency = "concurrency"
	groupLost        = "lost answers"
	groupFailures    = "errors"
	groupScopes      = "scope"
	groupExpiry      = "expiry"
	groupSizes       = "size"
	groupOperation   = "operation"
	groupKeyless     = "keyless"
	groupWebhooks    = "webhook"
	groupLast        = "last"
)

// Check is one numbered question. Its ID never changes its meaning.
type Check struct {
	ID     string // such as BASIC-02
	Group  string
	Level  Level
	Says   string // the sentence that is checked, in plain words
	Source string // where it comes from: a section of the draft, an RFC, a promise of Semel's
	// Advice says what to do when the check fails, in one or two sentences.
	Advice string
	// NeedsCount says that answers alone cannot tell.
	NeedsCount bool

	// requests returns the most requests that the check sends to the endpoint.
	requests func(*Config) int
	// waits returns how long the check waits on purpose, at least; nil if it does not.
	waits func(*Config) time.Duration
	// unfit says why the check does not apply with this configuration; empty if it does.
	unfit func(*Config) string
	run   checkFunc
}

// checkFunc carries a check out.
type checkFunc = func(context.Context, *probe) finding

// What a check judges by.
const (
	byAnswer = false
	byCount  = true // too: NeedsCount
)

func row(
	id string, level Level, needsCount bool, says, source, advice string, requests func(*Config) int, unfit func(*Config) string, run checkFunc,
) Check {
	return Check{
		ID: id, Level: level, Says: says, Source: source, Advice: advice, NeedsCount: needsCount,
		requests: requests, unfit: unfit, run: run,
	}
}

func inGroup(group string, checks []Check) []Check {
	for i := range checks {
		checks[i].Group = group
	}
	return checks
}

// afterSample is inGroup for checks that mean nothing if the undisturbed request does not succeed.
func afterSample(group string, checks []Check) []Check {
	for i := range checks {
		run := checks[i].run
		checks[i].run = func(ctx context.Context, p *probe) finding {
			for _, r := range p.run.sample.replies() {
				if !r.fine() {
					return incomplete("even undisturbed, the request is answered %s", r).saying(r)
				}
			}
			return run(ctx, p)
		}
	}
	return inGroup(group, checks)
}

// Catalog lists every check, in the order in which they run.
func Catalog() []Check {
	return slices.Concat(
		inGroup(groupBasics, basics()),
		afterSample(groupKeySyntax, keys()),
		inGroup(groupMismatch, mismatches()),
		afterSample(groupConcurrency, concurrency()),
		afterSample(groupLost, lostAnswers()),
		afterSample(groupFailures, failures()),
		afterSample(groupScopes, scopes()),
		afterSample(groupExpiry, expiries()),
		afterSample(groupSizes, sizes()),
		afterSample(groupOperation, operations()),
		inGroup(groupKeyless, forms()),
		afterSample(groupKeyless, uniqueValues()),
		inGroup(groupWebhooks, webhooks()),
		inGroup(groupLast, last()),
	)
}

func sends(n int) func(*Config) int { return func(*Config) int { return n } }

func always(*Config) string { return "" }

// wantsKey requires a key whose value the client chooses.
func wantsKey(c *Config) string {
	return unless(c.Key.In != keyNowhere, "the profile has no keys")
}

func wantsHeader(c *Config) string {
	return unless(c.Key.In == keyInHeader, "the key is not in a header")
}

// unless returns the reason not to run a check unless its condition holds.
func unless(holds bool, reason string) string {
	if holds {
		return ""
	}
	return reason
}
