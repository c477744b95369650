package check

import (
	"context"
	"slices"
	"time"
)

// Level is how much a check matters.
type Level string

// The levels, as RFC 2119 has the first two. Strict checks go beyond what
// standards ask for, and run with [LevelStrict] only.
const (
	LevelMust   Level = "MUST"
	LevelShould Level = "SHOULD"
	LevelStrict Level = "STRICT"
)

// weight orders levels.
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
	// Advice is what to do when it fails, in one or two sentences.
	Advice string
	// NeedsCount says that answers alone cannot tell.
	NeedsCount bool

	// requests is how many it sends to the endpoint at most.
	requests func(*Config) int
	// waits is how long it waits on purpose, at the least; nil for not at all.
	waits func(*Config) time.Duration
	// unfit says why the check does not apply with this configuration; empty if it does.
	unfit func(*Config) string
	run   func(context.Context, *probe) finding
}

// Catalog lists every check, in the order in which they run.
func Catalog() []Check {
	return slices.Concat(
		basics(),
		keys(),
		mismatches(),
		concurrency(),
		lostAnswers(),
		failures(),
		scopes(),
		expiries(),
		sizes(),
		operations(),
		forms(),
		uniqueValues(),
		webhooks(),
		last(),
	)
}

// sends is the bound of checks whose number of requests depends on nothing.
func sends(n int) func(*Config) int { return func(*Config) int { return n } }

// always is for checks that apply to every configuration.
func always(*Config) string { return "" }

// wantsKey is for checks that need a key whose value the client chooses.
func wantsKey(c *Config) string {
	if c.Key.In == keyNowhere {
		return "the profile has no keys"
	}
	return ""
}

// wantsHeader is for checks of how the header is spelled.
func wantsHeader(c *Config) string {
	if c.Key.In != keyInHeader {
		return "the key is not in a header"
	}
	return ""
}
