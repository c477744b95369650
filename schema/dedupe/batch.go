package dedupe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// merge merges groups in the transaction of the session: it locks and reads, decides the fate of every row, writes the audit
// and then the rows.
func (r *runner) merge(ctx context.Context, groups []group) error {
	var ids []int64
	for _, g := range groups {
		ids = append(ids, g.number)
	}
	if err := r.execAll(ctx, r.announce(r.run)); err != nil {
		return err
	}
	r.met = map[*table]bool{}
	for _, t := range r.used {
		//semel:safe a temporary table of the session: the second run finds it empty
		if _, err := r.exec(ctx, t.forget()); err != nil {
			return err
		}
	}
	if r.swept != nil {
		if err := r.sweepGroups(ctx, ids); err != nil {
			return err
		}
		return r.execAll(ctx, r.conclude())
	}
	//semel:safe a batch is one transaction, which ends with the states that keep it from running again
	if _, err := r.meet(ctx, r.tables[0], r.insertRoot(ids), r.run); err != nil {
		return err
	}
	changed, err := scanned[int64](ctx, r.dbSession, r.changedGroups(ids), r.run)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		return &refusedError{reasonsFor(changed, "a row was changed or deleted after the run began: the rows are not the same any more")}
	}
	if err := r.decide(ctx); err != nil {
		return err
	}
	if err := r.write(ctx); err != nil {
		return err
	}
	//semel:safe the second run finds no group in state 0
	if _, err = r.exec(ctx, "UPDATE semel_dedupe_map SET state = 1 WHERE run = $1 AND state = 0 AND "+groupsIn("grp", ids), r.run); err != nil {
		return err
	}
	return r.execAll(ctx, r.conclude())
}

// meet adds rows to the fate of a table.
func (r *runner) meet(ctx context.Context, t *table, statement string, args ...any) (n int64, err error) {
	n, err = r.exec(ctx, statement, args...)
	if n > 0 {
		r.met[t] = true
		join(&r.used, []*table{t})
	}
	return n, err
}

// decide fills the fates.
func (r *runner) decide(ctx context.Context) error {
	if err := r.spread(ctx); err != nil {
		return err
	}
	return r.fill(ctx)
}

// spread moves and merges in the fates, table by table, until nothing more moves or collides.
func (r *runner) spread(ctx context.Context) error {
	for round := range maxRounds {
		changes := int64(0)
		for _, t := range r.tables {
			n, err := r.decideTable(ctx, t, round == 0 && r.swept == nil && t != r.tables[0])
			if err != nil {
				return err
			}
			changes += n
		}
		if changes == 0 || !r.rounds {
			if changes, err := r.settle(ctx); err != nil || changes == 0 {
				return errors.Join(err, r.crowds(ctx))
			}
		}
		if round == maxRounds-1 {
			return fmt.Errorf("rows of these groups collide more than %d levels deep", maxRounds)
		}
	}
	return nil
}

// fill gives the winners of the fates their new values.
func (r *runner) fill(ctx context.Context) error {
	if err := r.decideAsked(ctx); err != nil {
		return err
	}
	for _, t := range r.tables {
		for _, p := range t.fills {
			statement := t.fillAnswers(p.column, r.answers[p.column])
			if p.kind != askPolicy {
				statement = t.fill(p)
			}
			if statement == "" {
				continue
			}
			//semel:safe a batch is one transaction, which ends with the states that keep it from running again
			if _, err := r.exec(ctx, statement); err != nil {
				if r.classify(err) == ofSQL {
					err = r.written(err)
				}
				return fmt.Errorf("column %s of %s: %w", p.column, t.name, err)
			}
		}
	}
	return nil
}

// decideTable moves the references of a table's rows and merges those that collide; it returns how much changed. The fate may be
// empty.
func (r *runner) decideTable(ctx context.Context, t *table, empty bool) (all int64, err error) {
	for _, e := range r.edges {
		if e.child != t || !r.met[e.parent] {
			continue
		}
		statements := e.movers()
		if empty && e.parent != t {
			statements = e.firstMovers()
		}
		empty = false
		for _, statement := range statements {
			n, err := r.meet(ctx, t, statement)
			if err != nil {
				return 0, err
			}
			all += n
		}
	}
	merged, err := r.mergeMet(ctx, t)
	return all + merged, err
}

// mergeMet merges the rows of a table that meet in a key which says that they are the same.
func (r *runner) mergeMet(ctx context.Context, t *table) (all int64, err error) {
	collided := int64(0)
	for _, k := range t.keys {
		if k.alone || !r.met[t] {
			continue // the first are settled at the end
		}
		//semel:safe a batch is one transaction, which ends with the states that keep it from running again
		n, err := r.meet(ctx, t, t.insertMet(k))
		if err != nil {
			return 0, err
		}
		merged, err := r.exec(ctx, t.collide(k))
		if err != nil {
			return 0, err
		}
		all, collided = all+n+merged, collided+merged
	}
	if collided > 0 {
		err = r.compressAll(ctx, t)
	}
	return all, err
}

// compressAll lets every merged row of a table name the row that stays.
func (r *runner) compressAll(ctx context.Context, t *table) error {
	for {
		//semel:safe a batch is one transaction, which ends with the states that keep it from running again
		if n, err := r.exec(ctx, t.compress()); err != nil || n == 0 {
			return err
		}
	}
}

// write writes the audit and the rows.
func (r *runner) write(ctx context.Context) error {
	for _, t := range r.tables {
		if !t.deep || !r.met[t] {
			continue
		}
		//semel:safe a batch is one transaction, which ends with the states that keep it from running again
		if _, err := r.exec(ctx, t.auditMerges(), r.run); err != nil {
			return err
		}
	}
	if err := r.change(ctx, r.marks()); err != nil {
		return err
	}
	if err := r.change(ctx, r.yieldings()); err != nil {
		return err
	}
	if err := r.change(ctx, r.moves()); err != nil {
		return err
	}
	if err := r.cycles(ctx); err != nil {
		return err
	}
	for _, t := range r.tables {
		if err := r.auditMoved(ctx, t); err != nil {
			return err
		}
		if len(t.sets()) == 0 || !r.met[t] {
			continue
		}
		//semel:safe a batch is one transaction, which ends with the states that keep it from running again
		if _, err := r.exec(ctx, t.auditYielded(), r.run); err != nil {
			return err
		}
	}
	if err := r.change(ctx, r.fillings()); err != nil {
		return err
	}
	return r.check(ctx)
}

// auditMoved keeps the references of a table that move.
func (r *runner) auditMoved(ctx context.Context, t *table) error {
	statements := []string{t.auditMoved()}
	switch {
	case len(t.moves) == 0 || !r.met[t]:
		return nil
	case r.swept != nil:
		statements = t.auditMovedAgain(r.clock())
	}
	for _, statement := range statements {
		//semel:safe a batch is one transaction, which ends with the states that keep it from running again
		if _, err := r.exec(ctx, statement, r.run); err != nil {
			return err
		}
	}
	return nil
}

// change changes rows of several tables, and compares what was done with what was due.
func (r *runner) change(ctx context.Context, writes []write) error {
	writes = slices.DeleteFunc(writes, func(w write) bool { return !r.met[w.table] })
	statements := texts.Of(writes, func(w write) string { return w.statement })
	wanted := texts.Of(writes, func(w write) string { return "(SELECT count(*) FROM " + w.fate() + " AS f WHERE " + w.due + ")" })
	counts, due, err := r.apply(ctx, statements, wanted, r.run)
	if err != nil {
		return err
	}
	for i, w := range writes {
		if counts[i] != due[i] {
			return fmt.Errorf("a trigger or a rule keeps %s of %s from being changed (%d of %d were)", texts.Count(due[i]-counts[i], "row"), w.name, counts[i], due[i])
		}
	}
	return nil
}

// cycles finds rows that came to refer to themselves over others, and refuses their groups or cuts the youngest reference.
func (r *runner) cycles(ctx context.Context) error {
	for _, e := range r.edges {
		for e.child == e.parent && r.met[e.child] {
			var number int64
			var row string
			err := r.one(ctx, e.cycle(), nil, &number, &row)
			if err == sql.ErrNoRows { //nolint:errorlint // it comes from one.
				break
			}
			if err != nil {
				return err
			}
			if err := r.cutAt(ctx, e, number, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutAt sets the reference of a row to NULL, where the request allows it.
func (r *runner) cutAt(ctx context.Context, e *edge, number int64, row string) error {
	cut := e.cut(row)
	if r.request.Cycles == refuseCycles || cut == nil {
		return &refusedError{map[int64]string{number: fmt.Sprintf("%s of the row %s of %s would close a circle of references (plan with --cycles break to set it to NULL)", strings.Join(e.cols, ", "), row, e.child.name)}}
	}
	for _, statement := range cut {
		n, err := r.exec(ctx, statement)
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("%s of %s changed to break the circle at %s: a trigger or a rule keeps it from that", texts.Count(n, "row"), e.child.name, row)
		}
	}
	return nil
}

// check looks for broken references, and compares what must not change.
func (r *runner) check(ctx context.Context) error {
	if !r.enforces() {
		if err := r.referred(ctx); err != nil {
			return err
		}
	}
	reasons := map[int64]string{}
	for _, t := range r.tables {
		for i, query := range t.lostChecks() {
			if !r.met[t] {
				break
			}
			what := "the number of rows of " + t.name
			if t.checks[i] != "" {
				what = "the sum of " + t.checks[i] + " in " + t.name
			}
			err := r.collectReasons(ctx, reasons, query, func(row string) string {
				return fmt.Sprintf("%s would change: the row %s would not have all of what the rows that become it have", what, row)
			})
			if err != nil {
				return err
			}
		}
	}
	return refusedFor(reasons)
}

// collectReasons keeps a reason for each group that a query returns with the key of a row.
func (r *runner) collectReasons(ctx context.Context, reasons map[int64]string, query string, why func(row string) string) error {
	return r.each(ctx, query, nil, func(rows *sql.Rows) error {
		var number int64
		var row string
		err := rows.Scan(&number, &row)
		if reasons[number] == "" {
			reasons[number] = why(row)
		}
		return err
	})
}

// refusedFor refuses the groups that have a reason, if any.
func refusedFor(reasons map[int64]string) error {
	if len(reasons) == 0 {
		return nil
	}
	return &refusedError{reasons}
}
