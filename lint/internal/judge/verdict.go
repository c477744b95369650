package judge

import "slices"

// Verdict says whether a statement is safe to run twice. A greater one is worse.
type Verdict uint8

// The verdicts.
const (
	// Safe: the database is the same after one run as after several.
	Safe Verdict = iota
	// Time: the same apart from timestamps.
	Time
	// CannotTell: neither could be shown.
	CannotTell
	// NotSafe: a second run changes what the first has left, for some contents of the tables.
	NotSafe
)

// String is the verdict as people read it.
func (v Verdict) String() string {
	return [...]string{"safe", "safe apart from a timestamp", "cannot tell", "not safe"}[v]
}

// Rule names the reason of a verdict.
type Rule string

// The rules. docs/lint.md has an example of each.
const (
	ReadsOnly       Rule = "reads-only"
	PlainValues     Rule = "plain-values"     // the same values each time
	SettledValue    Rule = "settled-value"    // a function that changes nothing the second time
	Guarded         Rule = "guarded"          // the condition is false after the change
	Deletes         Rule = "deletes"          // what is deleted is not there again
	UniqueKey       Rule = "unique-key"       // a second row is refused
	SameRow         Rule = "same-row"         // an upsert that writes the same row
	FedOnce         Rule = "fed-once"         // fed by rows that exist once
	Definition      Rule = "definition"       // a second run is refused or does nothing
	Timestamp       Rule = "timestamp"        // only a clock differs
	RelativeValue   Rule = "relative-value"   // n = n - 1
	RandomValue     Rule = "random-value"     // random, a sequence
	SideEffect      Rule = "side-effect"      // a query that changes something
	NoUniqueKey     Rule = "no-unique-key"    // an insert that nothing stops
	DifferentValues Rule = "different-values" // an upsert that inserts one value and sets another
	MovingSelection Rule = "moving-selection" // the next run selects other rows
	OpenOrder       Rule = "open-order"       // LIMIT without an order
	Triggered       Rule = "trigger"
	Undefined       Rule = "undefined" // DDL without a name
	Cascades        Rule = "cascade"   // deleting a row changes others that match
	Opaque          Rule = "opaque"
	UnknownTable    Rule = "unknown-table"
	UnknownFunction Rule = "unknown-function"
	Unproven        Rule = "unproven"
)

// Rules returns all of them.
func Rules() []Rule {
	return []Rule{
		ReadsOnly, PlainValues, SettledValue, Guarded, Deletes, UniqueKey, SameRow, FedOnce,
		Definition, Timestamp, RelativeValue, RandomValue, SideEffect, NoUniqueKey, DifferentValues, MovingSelection,
		OpenOrder, Triggered, Undefined, Cascades, Opaque, UnknownTable, UnknownFunction, Unproven,
	}
}

// Judgement holds the verdict of the rules on one statement.
type Judgement struct {
	Verdict Verdict
	Rule    Rule
	Why     string // one sentence
	Guard   string // what would make it safe; empty for none
	// Once says that a second run touches no row.
	Once bool
	// Assumes are conditions under which the verdict holds.
	Assumes []string
	Repeat  Repeat
	Refusal string // the error of a second run that is refused, where one is certain
}

// worse returns the worse of two judgements.
func worse(a, b Judgement) Judgement {
	assumes := a.Assumes
	for _, one := range b.Assumes {
		assumes = append(slices.Clip(assumes), one)
	}
	once := a.Once && b.Once
	if b.Verdict > a.Verdict || b.Verdict == a.Verdict && a.Verdict == Safe && b.Rule.weight() > a.Rule.weight() {
		a = b
	}
	a.Once, a.Assumes = once, assumes
	return a
}

// weight orders the reasons for which something is safe: the one that carries the others counts.
func (r Rule) weight() int {
	switch r { //nolint:exhaustive // the others weigh the same
	case ReadsOnly:
		return 0
	case PlainValues:
		return 1
	case Deletes, SettledValue:
		return 2
	}
	return 3
}

func judged(v Verdict, rule Rule, why string) Judgement {
	return Judgement{Verdict: v, Rule: rule, Why: why}
}
