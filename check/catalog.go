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

// sends returns a fixed number of requests.
func sends(n int) func(*Config) int { return func(*Config) int { return n } }

// always accepts every configuration.
func always(*Config) string { return "" }

// wantsKey requires a key whose value the client chooses.
func wantsKey(c *Config) string {
	if c.Key.In == keyNowhere {
		return "the profile has no keys"
	}
	return ""
}

// wantsHeader requires a key in a header.
func wantsHeader(c *Config) string {
	if c.Key.In != keyInHeader {
		return "the key is not in a header"
	}
	return ""
}
