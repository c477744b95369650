package dedupe

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/internal/plan"
)

// Finished is the result of [Database.Finish].
type Finished struct {
	Table string `json:"table"`
	// Index is the unique index that enforces the rule; Built says that this call made it.
	Index string `json:"index"`
	Built bool   `json:"built"`
	// Swept and Late are as in [Report].
	Swept int64     `json:"swept,omitempty"`
	Late  []Refusal `json:"late,omitempty"`
	// Guard says that the guard was removed.
	Guard bool `json:"guard_removed"`
}

// maxBuilds bounds how often the index is tried that others keep from being built.
const maxBuilds = 3

// Finish makes the unique index for the rule of a plan when its runs are over, and then removes the guard. It is refused
// while there are duplicates. Killed at any instant, the same call goes on.
func (d *Database) Finish(ctx context.Context, p *Plan, o *Options) (done *Finished, err error) {
	err = d.locked(ctx, func(s *dbSession) (err error) {
		g, err := s.newGuarding(ctx, p)
		if err != nil {
			return err
		}
		done = &Finished{Table: p.Request.Table, Index: p.Request.Index}
		if err := g.ready(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, (&runner{dbSession: s, site: g.site}).leave(ctx)) }()
		if err := g.sweep(ctx, o, done); err != nil {
			return err
		}
		if done.Built, err = g.build(ctx, p, o.By); err != nil {
			return err
		}
		if err := g.sweep(ctx, o, done); err != nil {
			return err
		}
		done.Guard, err = g.removeOwn(ctx)
		return err
	})
	return done, err
}

// ready makes the ledgers, and refuses what this user may not end, or what is not over.
func (g *guarding) ready(ctx context.Context) error {
	if err := g.keep(ctx); err != nil {
		return err
	}
	if err := g.guardLedger(ctx); err != nil {
		return err
	}
	if err := g.keeper().owned(ctx, g); err != nil {
		return err
	}
	return g.over(ctx)
}

// removeOwn removes the guard of the rule, and reports whether there was one.
func (g *guarding) removeOwn(ctx context.Context) (removed bool, err error) {
	all, err := g.guards(ctx)
	for i := range all {
		if one := &all[i]; err == nil && one.Name == g.rule.Name && one.Table == g.tables[0].name {
			removed, err = true, g.removeGuard(ctx, one)
		}
	}
	return removed, err
}

// over refuses while a run of the table is not.
func (g *guarding) over(ctx context.Context) error {
	var run, open int64
	err := g.one(ctx, "SELECT r.id, count(*) FROM semel_dedupe_run AS r JOIN semel_dedupe_map AS m ON m.run = r.id AND m.state = 0 WHERE r.tbl = $1 AND r.undone_at IS NULL GROUP BY r.id ORDER BY r.id DESC LIMIT 1",
		[]any{g.tables[0].name}, &run, &open)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return refuse("run %d of %s has %s left (go on with semel dedupe run)", run, g.tables[0].name, texts.Count(open, "loser"))
}

// sweep moves late rows.
func (g *guarding) sweep(ctx context.Context, o *Options, done *Finished) error {
	r := &runner{dbSession: g.dbSession, site: g.site, opts: o, pace: &pacer{dbSession: g.dbSession, Pace: o.Pace}}
	if !g.prepared {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		g.prepared = true
	}
	swept, err := r.sweepAll(ctx)
	if swept != nil {
		done.Swept, done.Late = done.Swept+swept.moved, swept.refused
	}
	return err
}

// build makes the unique index unless one enforces the rule, and reads back that it does. What an interrupted call left is
// dropped, and it is tried again where others were in the way.
func (g *guarding) build(ctx context.Context, p *Plan, by string) (built bool, err error) {
	for tries := 1; ; tries++ {
		step, err := g.missing(ctx)
		if err != nil {
			return built, err
		}
		if step == nil {
			//semel:safe the second run leaves the time as it is
			_, err := g.exec(ctx, "UPDATE semel_dedupe_index SET built_at = coalesce(built_at, "+g.clock()+") WHERE tbl = $1 AND name = $2 AND dropped_at IS NULL", p.Request.Table, p.Request.Index)
			return built, err
		}
		if built {
			return false, refuse("the index %s was made, and does not enforce the rule (look at it, and at semel rules verify)", p.Request.Index)
		}
		if err := g.recordIndex(ctx, p, by); err != nil {
			return false, err
		}
		if err = g.statements(ctx, step); err == nil {
			built = true
			continue
		}
		if drop := g.keeper().dropIndex(ctx, g.dbSession, p.Request.Table, p.Request.Index, true); drop != nil {
			return false, errors.Join(err, drop)
		}
		if class := g.classify(err); class != transient && class != ofRows || tries == maxBuilds {
			return false, fmt.Errorf("make the unique index %s: %w (call again; with semel dedupe guard, no new duplicate is in its way)", p.Request.Index, err)
		}
	}
}

// missing is the step that makes the index, or nil where the rule is enforced.
func (g *guarding) missing(ctx context.Context) (*plan.RuleStep, error) {
	all, err := plan.Make(ctx, g.DB, g.Dialect, &rules.File{Unique: []rules.Unique{*g.rule}}, &plan.Options{Personal: true})
	switch {
	case err != nil:
		return nil, g.explain(err)
	case len(all.Steps) == 0:
		return nil, nil //nolint:nilnil // nothing is missing.
	case all.Steps[0].Refused == nil:
		return &all.Steps[0], nil
	}
	refused := all.Steps[0].Refused
	rows, fix := "", refused.Fix
	if refused.Duplicates != nil {
		fix = "merge them with semel dedupe run, or correct them, then finish again"
		for _, one := range refused.Duplicates.Samples {
			var keys []string
			for _, key := range one {
				keys = append(keys, strings.Join(key, ","))
			}
			rows += "; " + strings.Join(keys, " and ")
		}
		rows = strings.Replace(rows, "; ", ", such as ", 1)
	}
	reasons, err := g.reasons(ctx)
	if err != nil {
		return nil, err
	}
	return nil, refuse("%s%s%s (%s)", refused.Why, rows, reasons, fix)
}

// maxReasons bounds the reasons that are repeated.
const maxReasons = 3

// reasons says why runs left groups of the table as they were.
func (g *guarding) reasons(ctx context.Context) (text string, err error) {
	err = g.each(ctx, "SELECT m.run, m.grp, min(m.reason) FROM semel_dedupe_map AS m JOIN semel_dedupe_run AS r ON r.id = m.run WHERE r.tbl = $1 AND r.undone_at IS NULL AND m.state = 2 GROUP BY m.run, m.grp ORDER BY m.run DESC, m.grp LIMIT $2",
		[]any{g.tables[0].name, maxReasons}, func(rows *sql.Rows) error {
			var run, number int64
			var reason string
			err := rows.Scan(&run, &number, &reason)
			text += fmt.Sprintf("; run %d left group %d: %s", run, number, reason)
			return err
		})
	return text, err
}

// recordIndex refuses a name that others have, and records that the index is about to be made.
func (g *guarding) recordIndex(ctx context.Context, p *Plan, by string) error {
	root, name := g.tables[0], p.Request.Index
	what, err := g.keeper().relation(ctx, g.dbSession, root, name)
	if err != nil {
		return err
	}
	const advice = "plan again with --index, or drop it"
	if what != "" {
		return refuse("the name %s of the unique index to come is taken by %s (%s)", name, what, advice)
	}
	var begun bool
	if err := g.one(ctx, "SELECT count(*) > 0 FROM semel_dedupe_index WHERE tbl = $1 AND name = $2 AND dropped_at IS NULL", []any{root.name, name}, &begun); err != nil {
		return err
	}
	if begun {
		return nil
	}
	if x, there := root.catalog.Index(name); there {
		how := "enforces something else"
		if !x.Valid {
			how = "is not valid, and was not made by semel dedupe"
		}
		return refuse("%s has an index %s already, which %s (%s)", root.name, name, how, advice)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	//semel:safe one process at a time has the lock of the session
	_, err = g.exec(ctx, "INSERT INTO semel_dedupe_index (tbl, name, plan, started_by) VALUES ($1, $2, $3, $4)", root.name, name, string(text), by)
	return err
}

// unbuild takes down the unique indexes of a table that [Database.Finish] made, for an undo. The guard takes their place first.
func (s *dbSession) unbuild(ctx context.Context, table, by string) error {
	has, err := s.hasGuards(ctx)
	if err != nil || !has {
		return err
	}
	type index struct {
		id         int64
		name, plan string
	}
	var all []index
	err = s.each(ctx, "SELECT id, name, plan FROM semel_dedupe_index WHERE tbl = $1 AND dropped_at IS NULL ORDER BY id", []any{table}, func(rows *sql.Rows) error {
		var one index
		err := rows.Scan(&one.id, &one.name, &one.plan)
		all = append(all, one)
		return err
	})
	if err != nil {
		return err
	}
	for _, one := range all {
		p := &Plan{}
		if err := json.Unmarshal([]byte(one.plan), p); err != nil {
			return err
		}
		g, err := s.newGuarding(ctx, p)
		if err != nil {
			return fmt.Errorf("put the guard in the place of the index %s: %w", one.name, err)
		}
		if err := g.keeper().allowed(ctx, g); err != nil {
			return err
		}
		if err := g.install(ctx, p, by); err != nil {
			return err
		}
		if err := s.keeper().dropIndex(ctx, s, table, one.name, false); err != nil {
			return err
		}
		//semel:safe one process at a time has the lock of the session
		if _, err := s.exec(ctx, "UPDATE semel_dedupe_index SET dropped_at = "+s.clock()+" WHERE id = $1", one.id); err != nil {
			return err
		}
	}
	return nil
}

// finished names the unique indexes of a table that [Database.Finish] made.
func (s *dbSession) finished(ctx context.Context, table string) ([]string, error) {
	has, err := s.hasGuards(ctx)
	if err != nil || !has {
		return nil, err
	}
	return scanned[string](ctx, s, "SELECT name FROM semel_dedupe_index WHERE tbl = $1 AND dropped_at IS NULL ORDER BY id", table)
}
