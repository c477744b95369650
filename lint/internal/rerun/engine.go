package rerun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
)

const (
	// fillings counts the tries of a statement, each with other rows. Where nothing changed, twice as often.
	fillings = 12
	// fillingsOfDefinition counts those of a statement that may change definitions, each on a new copy.
	fillingsOfDefinition = 2
	// statementTimeout bounds one run of a statement, in the server.
	statementTimeout = 2 * time.Second
	// temporaryFiles bounds what one run of a statement keeps outside of tables, in the server.
	temporaryFiles = "100MB"
	// patience bounds one run of a statement, here.
	patience = 3 * statementTimeout
)

// engine runs statements on one copy.
type engine struct {
	layout *layout
	copy   scratch
}

// scratch is a copy of a database.
type scratch interface {
	// read reads what the copy holds.
	read(ctx context.Context) (*layout, error)
	// begin returns a session on which no statement has left anything.
	begin(ctx context.Context) (copySession, error)
	// renew makes the copy again.
	renew(ctx context.Context) error
	// drop removes the copy.
	drop() error
}

// prove runs one statement on the copy. An error means that the copy cannot be used any more.
func (e *engine) prove(ctx context.Context, s Statement) (Outcome, error) {
	a, refusal := e.layout.admit(s)
	if refusal != nil {
		return Outcome{Why: refusal.Error()}, nil //nolint:nilerr // the outcome holds it.
	}
	tables := e.layout.reached(a.text)
	if len(tables) > maxTables {
		return Outcome{Why: fmt.Sprintf("it reaches %d tables, more than %d", len(tables), maxTables)}, nil
	}
	t := &trial{engine: e, admitted: a, tables: tables, clues: cluesOf(e.layout, a.tree)}
	t.text, t.names = bind(e.layout.dialect, a.text, a.tokens)
	outcome, err := t.all(ctx)
	if err == nil && a.defines {
		err = e.copy.renew(ctx)
	}
	return outcome, err
}

// trial runs one statement with several fillings.
type trial struct {
	*engine
	*admitted

	text   string // with the placeholders of the driver
	names  []string
	tables []*table
	clues  *clues

	outcome Outcome
	touched int   // a filling in which the first run changed something; -1 for none
	refused error // by the database, at the last first run
	ran     bool
}

// all tries the fillings until one shows that the runs differ.
func (t *trial) all(ctx context.Context) (Outcome, error) {
	t.touched = -1
	most := fillings
	if t.defines {
		most = fillingsOfDefinition
	}
	for n := 0; n < most || t.touched < 0 && n < 2*most; n++ {
		if t.defines && n > 0 {
			if err := t.copy.renew(ctx); err != nil {
				return Outcome{}, err
			}
		}
		if err := t.once(ctx, n, false); err != nil {
			return t.end(ctx, err)
		}
		if t.outcome.Kind == Differs {
			return t.outcome, nil
		}
	}
	if t.touched >= 0 && t.outcome.Kind == Same && t.coarse() {
		if err := t.once(ctx, t.touched, true); err != nil {
			return t.end(ctx, err)
		}
	}
	return t.end(ctx, nil)
}

// end returns the outcome of a trial that showed no difference.
func (t *trial) end(ctx context.Context, err error) (Outcome, error) {
	switch {
	case ctx.Err() != nil:
		return Outcome{}, ctx.Err()
	case err != nil:
		return Outcome{Why: firstLine(err).Error(), Fillings: t.outcome.Fillings}, nil
	case t.touched < 0 && !t.ran:
		return Outcome{Why: "the database refuses it: " + firstLine(t.refused).Error(), Fillings: t.outcome.Fillings}, nil
	case t.touched < 0:
		t.outcome.Kind = NoEvidence
	}
	return t.outcome, nil
}

// coarse reports whether the statement asks for the time on a database whose clock cannot be set: then a second has to pass.
func (t *trial) coarse() bool {
	if t.layout.dialect == dialect.MySQL {
		return false
	}
	texts := []string{t.text}
	for _, table := range t.tables {
		for i := range table.Columns {
			texts = append(texts, table.Columns[i].Default)
		}
		for _, o := range t.layout.objects {
			if strings.EqualFold(o.table, table.Name) {
				texts = append(texts, o.text)
			}
		}
	}
	all := strings.ToLower(strings.Join(texts, "\n"))
	for _, word := range []string{"now", "current_", "localtime", "clock_", "_timestamp", "timeofday", "strftime", "unixepoch", "julianday", "date(", "time("} {
		if strings.Contains(all, word) {
			return true
		}
	}
	return false
}

// errSlow means that a statement ran for too long.
var errSlow = fmt.Errorf("it ran for more than %s", statementTimeout)

// errLarge means that a statement needed too much room.
var errLarge = errors.New("it needs more than " + temporaryFiles + " of temporary files")

// once fills the tables, runs the statement twice, and compares. An error says why the statement cannot be tried.
func (t *trial) once(ctx context.Context, number int, coarse bool) error {
	s, err := t.copy.begin(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.clear(ctx, t.tables); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	f := newFiller(t.layout, t.clues, t.text, number)
	if err := s.insert(ctx, f.inserts(t.tables), t.tables); err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	args, err := t.arguments(ctx, s, f)
	if err != nil {
		t.refused = err
		return nil
	}
	t.outcome.Fillings++
	states := make([]state, 1, 3)
	if states[0], err = t.snapshot(ctx, s, t.tables, t.admitted); err != nil {
		return err
	}
	var answers [2]string
	var errs [2]error
	for i := range answers {
		if err := s.tick(ctx, i, coarse); err != nil {
			return err
		}
		answers[i], errs[i] = runStatement(ctx, s, t.text, args)
		if errors.Is(errs[i], errSlow) || errors.Is(errs[i], errLarge) {
			return errs[i]
		}
		now, err := t.snapshot(ctx, s, t.tables, t.admitted)
		if err != nil {
			return err
		}
		states = append(states, now)
	}
	if errs[0] != nil { // rows that stopped it, for instance; another filling may not
		t.refused = errs[0]
		return nil
	}
	t.ran = true
	t.compare(number, states, answers)
	return nil
}

// compare adds what one filling showed to the outcome.
func (t *trial) compare(number int, states []state, answers [2]string) {
	if answers[0] != answers[1] {
		t.outcome.First, t.outcome.Second = answers[0], answers[1]
	}
	counts := t.countsSequences()
	second := diff(states[1], states[2], counts)
	if touches := !diff(states[0], states[1], counts).none() || !second.none(); touches && t.touched < 0 {
		t.touched = number
		t.outcome.Kind = max(t.outcome.Kind, Same)
	}
	switch {
	case second.none():
	case second.other:
		t.outcome.Kind, t.outcome.Changes = Differs, second.changes
	case t.outcome.Kind < Time:
		t.outcome.Kind, t.outcome.Changes = Time, second.changes
	}
}

// runStatement runs a statement, for at most [patience].
func runStatement(ctx context.Context, s copySession, text string, args []string) (string, error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := s.execute(within, text, args)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return answer, errSlow
	}
	return answer, err
}

// arguments are the values of the placeholders, those of one name the same.
func (t *trial) arguments(ctx context.Context, s copySession, f *filler) ([]string, error) {
	all, err := s.arguments(ctx, t.text, t.names)
	if err != nil {
		return nil, err
	}
	args := make([]string, len(all))
	for i := range args {
		name := fmt.Sprint(i + 1)
		if i < len(t.names) {
			name = t.names[i]
		}
		args[i] = all[i].value(f.argument(name, t.tables))
	}
	return args, nil
}
