package dbguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// ErrIllegalTransition means that the row is in a state from which no declared
// move leads where the caller wants it. Nothing was changed, and trying again
// does not help. The concrete type is [*TransitionError].
var ErrIllegalTransition = errors.New("dbguard: illegal transition")

// TransitionError says what was wanted and what can be had.
type TransitionError[S comparable] struct {
	Machine  string
	From, To S
	// Allowed are the states that From has moves to, in the order of their
	// declaration; none if From is final, or was never declared.
	Allowed []S
	// Undeclared: the row holds a state that the machine does not have.
	Undeclared bool
}

// Error implements error. It tells states, and nothing else of the row.
func (e *TransitionError[S]) Error() string {
	switch {
	case e.Undeclared:
		return fmt.Sprintf("%v: %s is %v, which is not a state that is declared", ErrIllegalTransition, e.Machine, e.From)
	case len(e.Allowed) == 0:
		return fmt.Sprintf("%v: %s is %v, which is final, and cannot become %v", ErrIllegalTransition, e.Machine, e.From, e.To)
	}
	return fmt.Sprintf("%v: %s is %v and cannot become %v, only %s", ErrIllegalTransition, e.Machine, e.From, e.To, list(e.Allowed))
}

// Is makes it [ErrIllegalTransition].
func (e *TransitionError[S]) Is(target error) bool { return target == ErrIllegalTransition }

// Move is a declared transition.
type Move[S comparable] struct{ From, To S }

// Declaration lists the states of a row and the moves between them. S is the type
// of the column: text, a number, a boolean, or a type that scans and is valued as a UUID does.
type Declaration[S comparable] struct {
	// Name is the thing that has these states, in messages and drawings: order.
	Name string
	// Column holds the state. Default status.
	Column string
	// States are all of them, the one that a row begins in first.
	States []S
	// Moves are all that are allowed. There is none from a state to itself: what
	// is there already is a success anyhow.
	Moves []Move[S]
	// Final are the states that no move leaves. They are named so that a forgotten move
	// is an error and not a trap.
	Final []S
}

// Machine moves rows from state to state as declared, and no other way. It is
// safe for concurrent use. [NewMachine] is the only door.
type Machine[S comparable] struct {
	declared Declaration[S]
	to, from map[S][]S // the moves out of, and into, a state
}

// transitionRounds bounds how often [Machine.Transition] tries when the row moves
// on between its two statements each time.
const transitionRounds = 10

// NewMachine checks the declaration: every state is named once, every move goes
// from one declared state to another and is named once, every state can be
// reached from the first, and exactly those that are final have no way out. All
// that is wrong is reported at once.
func NewMachine[S comparable](declared Declaration[S]) (*Machine[S], error) {
	m := &Machine[S]{declared: declared, to: map[S][]S{}, from: map[S][]S{}}
	m.declared.States = slices.Clone(declared.States)
	m.declared.Moves = slices.Clone(declared.Moves)
	m.declared.Final = slices.Clone(declared.Final)
	m.declared.Column = cmp.Or(declared.Column, "status")
	for _, move := range declared.Moves {
		m.to[move.From] = append(m.to[move.From], move.To)
		m.from[move.To] = append(m.from[move.To], move.From)
	}
	if err := errors.Join(append(m.checkMoves(), m.checkStates()...)...); err != nil {
		return nil, fmt.Errorf("dbguard: the states of %s:\n%w", declared.Name, err)
	}
	return m, nil
}

func (m *Machine[S]) checkMoves() (wrong []error) {
	for i, move := range m.declared.Moves {
		for _, state := range []S{move.From, move.To} {
			if !slices.Contains(m.declared.States, state) {
				wrong = append(wrong, fmt.Errorf("the move from %v to %v: %v is not among the states", move.From, move.To, state))
			}
		}
		if move.From == move.To {
			wrong = append(wrong, fmt.Errorf("the move from %v to itself: leave it out", move.From))
		}
		if slices.Contains(m.declared.Moves[:i], move) {
			wrong = append(wrong, fmt.Errorf("the move from %v to %v is declared twice", move.From, move.To))
		}
	}
	return wrong
}

func (m *Machine[S]) checkStates() (wrong []error) {
	states := m.declared.States
	if len(states) == 0 {
		return []error{errors.New("name at least one state")}
	}
	reached := m.reachable()
	for i, state := range states {
		final, leaves := slices.Contains(m.declared.Final, state), len(m.to[state]) > 0
		switch {
		case slices.Contains(states[:i], state):
			wrong = append(wrong, fmt.Errorf("%v is declared twice", state))
		case !slices.Contains(reached, state):
			wrong = append(wrong, fmt.Errorf("%v cannot be reached from %v", state, states[0]))
		case final && leaves:
			wrong = append(wrong, fmt.Errorf("%v is final, but has a move to %v", state, m.to[state][0]))
		case !final && !leaves:
			wrong = append(wrong, fmt.Errorf("%v has no move out of it: declare one, or name it in Final", state))
		}
	}
	for _, state := range m.declared.Final {
		if !slices.Contains(states, state) {
			wrong = append(wrong, fmt.Errorf("final %v is not among the states", state))
		}
	}
	return wrong
}

// reachable walks the moves from the first state.
func (m *Machine[S]) reachable() []S {
	reached := []S{m.declared.States[0]}
	for i := 0; i < len(reached); i++ {
		for _, next := range m.to[reached[i]] {
			if !slices.Contains(reached, next) {
				reached = append(reached, next)
			}
		}
	}
	return reached
}

// Allowed are the states that a state has moves to.
func (m *Machine[S]) Allowed(from S) []S { return slices.Clone(m.to[from]) }

// Transition moves the row to a state, in one statement:
//
//	UPDATE … SET status = 'paid' WHERE id = 1 AND status IN ('new', 'reminded')
//
// The cells are set along with it. When no row is affected, it looks why: the
// row is there already, which is a success and changes nothing (alreadyThere);
// or no move leads there ([*TransitionError]); or the row does not
// exist ([ErrNotFound]). Of all that move one row at once, one at a time does, and the
// others meet the state that it left.
//
// It is right where being in the state is all that counts: a second "pay" of a
// paid order is a success. It is not right where each request counts separately
// (a second payment of another amount): alreadyThere does not say who
// came first; remember the key ([Dedup]) in the same transaction. What
// belongs to the move, such as an entry in the ledger, belongs into the
// transaction, and is done only if alreadyThere is false.
//
// It protects against writers that use the machine, and no others. A state that is
// text is compared as the column's collation does: give the column a binary one
// where Paid and paid must differ. At REPEATABLE READ PostgreSQL ends a
// transaction that meets another's change with an error that [Retryable] knows.
func (m *Machine[S]) Transition(ctx context.Context, s Session, row Row, to S, set ...Cell) (alreadyThere bool, err error) {
	if err := row.check(); err != nil {
		return false, err
	}
	if err := checkEngine(ctx, s, row.Table); err != nil {
		return false, err
	}
	if !slices.Contains(m.declared.States, to) {
		return false, fmt.Errorf("dbguard: %v is not among the states of %s", to, m.declared.Name)
	}
	for range transitionRounds {
		moved, err := m.move(ctx, s, row, to, set)
		if err != nil || moved {
			return false, err
		}
		have, is, err := m.look(ctx, s, row, to)
		if err != nil || is {
			return is, err
		}
		if !slices.Contains(m.from[to], have) {
			return false, &TransitionError[S]{
				Machine: m.declared.Name, From: have, To: to, Allowed: m.Allowed(have),
				Undeclared: !slices.Contains(m.declared.States, have),
			}
		}
	}
	return false, fmt.Errorf("dbguard: the %s moves on each time it is looked at: try again", m.declared.Name)
}

// look reads the state, and whether it is the one that is wanted: as the column
// compares, like the move does, so that a char(10) may have its spaces.
func (m *Machine[S]) look(ctx context.Context, s Session, row Row, to S) (have S, is bool, err error) {
	var state *S
	var same int
	column := dialect.Dialect(s.Dialect()).Quote(m.declared.Column)
	found, err := build(s.Dialect(), "SELECT "+column+", CASE WHEN "+column+" = ").value(to).add(" THEN 1 ELSE 0 END FROM ").
		name(row.Table).add(" WHERE ").cells(row.Key, " AND ").current().first(ctx, s, &state, &same)
	switch {
	case err != nil:
		return have, false, fmt.Errorf("look which state the row is in: %w", err)
	case !found:
		return have, false, ErrNotFound
	case state == nil:
		return have, false, fmt.Errorf("%w: the %s is NULL, which is not a state (make the column NOT NULL)", ErrIllegalTransition, m.declared.Name)
	}
	return *state, same == 1, nil
}

// move is the one statement. Nothing moves into a state that rows begin in.
func (m *Machine[S]) move(ctx context.Context, s Session, row Row, to S, set []Cell) (moved bool, err error) {
	if len(m.from[to]) == 0 {
		return false, nil
	}
	update := build(s.Dialect(), "UPDATE ").name(row.Table).add(" SET ").
		cells(append([]Cell{{Column: m.declared.Column, Value: to}}, set...), ", ").
		add(" WHERE ").cells(row.Key, " AND ").add(" AND ").column(m.declared.Column).add(" IN (")
	for i, from := range m.from[to] {
		if i > 0 {
			update.add(", ")
		}
		update.value(from)
	}
	n, err := update.add(")").exec(ctx, s)
	switch {
	case err != nil:
		return false, fmt.Errorf("move the %s: %w", m.declared.Name, err)
	case n > 1:
		return false, fmt.Errorf("dbguard: %d rows of %s were moved: its key is not unique; roll back", n, row.Table)
	}
	return n == 1, nil
}

// String draws the machine as text, a line for each state.
func (m *Machine[S]) String() string {
	var b strings.Builder
	for _, state := range m.declared.States {
		if moves := m.to[state]; len(moves) > 0 {
			fmt.Fprintf(&b, "%v -> %s\n", state, list(moves))
		} else {
			fmt.Fprintf(&b, "%v (final)\n", state)
		}
	}
	return b.String()
}

// Mermaid draws the machine for documents that show Mermaid diagrams.
func (m *Machine[S]) Mermaid() string {
	name := func(state S) string { return fmt.Sprintf("s%d", slices.Index(m.declared.States, state)) }
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, state := range m.declared.States {
		text := strings.NewReplacer(`"`, "#quot;", "\n", " ").Replace(fmt.Sprint(state))
		fmt.Fprintf(&b, "    state \"%s\" as %s\n", text, name(state))
	}
	fmt.Fprintf(&b, "    [*] --> %s\n", name(m.declared.States[0]))
	for _, move := range m.declared.Moves {
		fmt.Fprintf(&b, "    %s --> %s\n", name(move.From), name(move.To))
	}
	for _, state := range m.declared.Final {
		fmt.Fprintf(&b, "    %s --> [*]\n", name(state))
	}
	return b.String()
}

// list prints states: new, paid or cancelled.
func list[S any](states []S) string {
	var b strings.Builder
	for i, state := range states {
		switch {
		case i > 0 && i == len(states)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, state)
	}
	return b.String()
}
