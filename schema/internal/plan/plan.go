package plan

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
)

// ErrTooSlow means that looking for duplicates took longer than
// [Options.Patience].
var ErrTooSlow = errors.New("plan: looking for duplicates took too long")

const (
	defaultPatience    = 5 * time.Minute
	defaultSamples     = 5
	maxSamples         = 100
	defaultLockTimeout = 5 * time.Second
)

// Options are the settings of [Make]. A nil *Options is complete.
type Options struct {
	// Constraint asks for a constraint of the table instead of a mere index,
	// where the rule can be one: PostgreSQL, columns only, no exceptions.
	Constraint bool
	// LockTimeout bounds how long a statement that blocks others waits for its
	// locks. Default 5 s.
	LockTimeout time.Duration
	// Patience bounds the search for duplicates, per rule. Default 5 min.
	Patience time.Duration
	// Samples bounds the groups of duplicates listed, at most 100. Default 5.
	Samples int
	// Personal lists keys of texts as well, which may say something of a person.
	Personal bool
	// Version, when set, is the major version of the server to write for,
	// instead of that of the server that was asked.
	Version int
	// Progress, when set, receives before each rule how many are done, how many
	// there are, and the next one's name; and once more at the end. It is not
	// called concurrently.
	Progress func(done, all int, rule string)
}

func (o *Options) withDefaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Progress == nil {
		full.Progress = func(int, int, string) {}
	}
	full.LockTimeout = cmp.Or(max(0, full.LockTimeout), defaultLockTimeout)
	full.Patience = cmp.Or(max(0, full.Patience), defaultPatience)
	full.Samples = min(cmp.Or(max(0, full.Samples), defaultSamples), maxSamples)
	return full
}

// Plan lists the statements that make a database enforce the rules of a file.
type Plan struct {
	Dialect dialect.Dialect `json:"dialect"`
	// Server is the server's version as it says it.
	Server string `json:"server"`
	// Steps are for the rules that the database does not enforce, in the order of
	// the file. Nothing to do needs no step.
	Steps []RuleStep `json:"steps"`
	// Enforced counts the rules that need nothing.
	Enforced int `json:"enforced"`
}

// RuleStep makes the database enforce one rule, or says why it cannot.
type RuleStep struct {
	Rule string `json:"rule"`
	Line int    `json:"line"`
	Says string `json:"says"`
	// Table is as the rule names it.
	Table string `json:"table"`
	// Up are the statements to run in this order, Down those that undo them.
	// Both are empty where the step is refused.
	Up   []Statement `json:"up,omitempty"`
	Down []Statement `json:"down,omitempty"`
	// Notes say what else to know.
	Notes []string `json:"notes,omitempty"`
	// Refused, when set, is the reason why nothing is planned.
	Refused *Refusal `json:"refused,omitempty"`
}

// Statement is one SQL statement, without a semicolon at its end.
type Statement struct {
	// Comment says why, in one or more lines.
	Comment string `json:"comment,omitempty"`
	SQL     string `json:"sql"`
	// Session statements set something for the rest of the session, and do
	// nothing on their own.
	Session bool `json:"session,omitempty"`
}

// Refusal is the reason why a rule cannot be enforced at present.
type Refusal struct {
	// Why is a sentence; Fix says what to do.
	Why string `json:"why"`
	Fix string `json:"fix"`
	// Duplicates are the rows in the way, where that is the reason.
	Duplicates *Duplicates `json:"duplicates,omitempty"`
}

// Refused lists the steps that cannot be done.
func (p *Plan) Refused() []RuleStep {
	var refused []RuleStep
	for i := range p.Steps {
		if p.Steps[i].Refused != nil {
			refused = append(refused, p.Steps[i])
		}
	}
	return refused
}

// Make compares the rules with the database, and plans what is missing. It only
// reads, but looks at every row of the tables it plans for. Rows that break a
// rule, and rules that do not fit the database, are refusals in the plan, not
// errors. The error wraps [ErrTooSlow] where the tables are too large to look
// for duplicates within [Options.Patience].
//
// A plan is right for the database as it was: rows that are added between Make
// and the run make the last statement fail, and it can be made again.
func Make(ctx context.Context, db *sql.DB, d dialect.Dialect, file *rules.File, o *Options) (*Plan, error) {
	schema, err := catalog.Read(ctx, db, d)
	if err != nil {
		return nil, err
	}
	m := &maker{db: db, schema: schema, opts: o.withDefaults()}
	m.version = cmp.Or(m.opts.Version, majorVersion(schema.Server))
	plan := &Plan{Dialect: d, Server: schema.Server}
	all := len(file.Unique)
	for i := range file.Unique {
		m.opts.Progress(i, all, file.Unique[i].Name)
		step, err := m.step(ctx, &file.Unique[i])
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", file.Unique[i].Name, err)
		}
		if step == nil {
			plan.Enforced++
			continue
		}
		plan.Steps = append(plan.Steps, *step)
	}
	m.opts.Progress(all, all, "")
	return plan, nil
}
