package dbguard_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// orderState is text, as most states are.
type orderState string

const (
	stateNew       orderState = "new"
	statePaid      orderState = "paid"
	stateShipped   orderState = "shipped"
	stateCancelled orderState = "cancelled"
)

func orders(t *testing.T) *dbguard.Machine[orderState] {
	t.Helper()
	m, err := dbguard.NewMachine(dbguard.Declaration[orderState]{
		Name: "order", States: []orderState{stateNew, statePaid, stateShipped, stateCancelled},
		Moves: []dbguard.Move[orderState]{{stateNew, statePaid}, {stateNew, stateCancelled}, {statePaid, stateShipped}},
		Final: []orderState{stateShipped, stateCancelled},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func order(id int) dbguard.Row { return dbguard.RowAt("orders", "id", id) }

func newOrders(t *testing.T, db *guardtest.Database, keys int) {
	t.Helper()
	db.Run(t, "CREATE TABLE orders (id int PRIMARY KEY, status varchar(20) NOT NULL, by_caller int)")
	db.Insert(t, keys, "INSERT INTO orders (id, status) VALUES ({key}, 'new')")
}

// Eight callers pay and eight cancel at once: one of them moves the order, those
// who want the same find it there, and the others get the allowed moves.
func TestTransitionRace(t *testing.T) {
	t.Parallel()
	m := orders(t)
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		newOrders(t, db, guardtest.Keys)
		effects := guardtest.NewEffects(t, db)
		var moved, there, illegal atomic.Int64
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) error {
			to := []orderState{statePaid, stateCancelled}[caller%2]
			err := again(ctx, db, func(ctx context.Context, tx dbguard.Session) error {
				already, err := m.Transition(ctx, tx, order(key), to, dbguard.Cell{Column: "by_caller", Value: caller})
				if err != nil {
					return err
				}
				if already {
					there.Add(1)
					return nil
				}
				moved.Add(1)
				return effects.Add(ctx, tx, key)
			})
			if refused, ok := errors.AsType[*dbguard.TransitionError[orderState]](err); ok {
				illegal.Add(1)
				if refused.From == refused.To || refused.To != to {
					t.Errorf("refused from %s to %s, want another state to %s", refused.From, refused.To, to)
				}
				return nil
			}
			return err
		})
		effects.Check(t, guardtest.Keys)
		got := []int64{moved.Load(), there.Load(), illegal.Load()}
		const half = guardtest.Callers / 2
		if diff := cmp.Diff([]int64{guardtest.Keys, guardtest.Keys * (half - 1), guardtest.Keys * half}, got); diff != "" {
			t.Errorf("moved, already there, illegal (-want +got):\n%s", diff)
		}
		if n := db.Number(t, "SELECT count(*) FROM orders WHERE NOT (status = 'paid' AND by_caller % 2 = 0 OR status = 'cancelled' AND by_caller % 2 = 1)"); n != 0 {
			t.Errorf("%d orders are in a state that their mover did not want", n)
		}
	})
}

func TestTransition(t *testing.T) {
	t.Parallel()
	m := orders(t)
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		newOrders(t, db, 2)
		db.Run(t, "INSERT INTO orders (id, status) VALUES (3, 'lost')")
		for i, step := range []struct {
			id   int
			to   orderState
			want bool
			err  error
			text string
		}{
			{to: stateNew, want: true},
			{to: stateShipped, err: dbguard.ErrIllegalTransition, text: "order is new and cannot become shipped, only paid or cancelled"},
			{to: statePaid},
			{to: statePaid, want: true},
			{to: stateNew, err: dbguard.ErrIllegalTransition, text: "order is paid and cannot become new, only shipped"},
			{to: stateShipped},
			{to: statePaid, err: dbguard.ErrIllegalTransition, text: "order is shipped, which is final, and cannot become paid"},
			{id: 99, to: statePaid, err: dbguard.ErrNotFound},
			{id: 3, to: statePaid, err: dbguard.ErrIllegalTransition, text: "order is lost, which is not a state that is declared"},
		} {
			already, err := m.Transition(t.Context(), db, order(step.id), step.to)
			if already != step.want || !errors.Is(err, step.err) || err != nil && !strings.Contains(err.Error(), step.text) {
				t.Errorf("step %d: got %v, %v, want %v, %v (%s)", i, already, err, step.want, step.err, step.text)
			}
		}
		if _, err := m.Transition(t.Context(), db, order(1), "sold"); err == nil {
			t.Error("a state that is not declared was taken")
		}
		if _, err := m.Transition(t.Context(), db, dbguard.Row{Table: "orders"}, statePaid); err == nil {
			t.Error("a row without a key was taken")
		}
		if _, err := m.Transition(t.Context(), db, dbguard.RowAt("orders", "status", "new"), statePaid); err != nil {
			t.Errorf("one row by its state: %v", err)
		}
	})
}

// stateID is a state as packages for UUIDs have them: a type that scans itself.
type stateID struct{ text string }

// Value implements [driver.Valuer].
func (s stateID) Value() (driver.Value, error) { return s.text, nil }

// Scan implements [sql.Scanner].
func (s *stateID) Scan(from any) error {
	switch from := from.(type) {
	case string:
		s.text = from
	case []byte:
		s.text = string(from)
	default:
		return fmt.Errorf("a state is no %T", from)
	}
	return nil
}

// States of other types than text move alike.
func TestTransitionOfOtherTypes(t *testing.T) {
	t.Parallel()
	first, second := stateID{"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}, stateID{"6ba7b811-9dad-11d1-80b4-00c04fd430c8"}
	columns := map[dbguard.Dialect][]string{
		dbguard.PostgreSQL: {"uuid", "boolean", "smallint"},
		dbguard.MySQL:      {"char(36)", "boolean", "smallint"},
		dbguard.SQLite:     {"text", "boolean", "smallint"},
	}
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		c := columns[db.Dialect()]
		db.Run(t, fmt.Sprintf("CREATE TABLE t (id int PRIMARY KEY, u %s NOT NULL, b %s NOT NULL, n %s NOT NULL)", c[0], c[1], c[2]),
			fmt.Sprintf("INSERT INTO t VALUES (1, '%s', false, 1)", first.text))
		checkOneMove(t, db, "u", first, second)
		checkOneMove(t, db, "b", false, true)
		checkOneMove(t, db, "n", int16(1), int16(0))
	})
}

func checkOneMove[S comparable](t *testing.T, db *guardtest.Database, column string, from, to S) {
	t.Helper()
	m, err := dbguard.NewMachine(dbguard.Declaration[S]{
		Name: column, Column: column, States: []S{from, to}, Moves: []dbguard.Move[S]{{from, to}}, Final: []S{to},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{false, true} {
		already, err := m.Transition(t.Context(), db, dbguard.RowAt("t", "id", 1), to)
		if already != want || err != nil {
			t.Errorf("%s to %v: already there %v, %v, want %v", column, to, already, err, want)
		}
	}
	_, err = m.Transition(t.Context(), db, dbguard.RowAt("t", "id", 1), from)
	if refused, ok := errors.AsType[*dbguard.TransitionError[S]](err); !ok || refused.From != to || refused.To != from {
		t.Errorf("%s back: got %v, want a TransitionError from %v", column, err, to)
	}
}

// All errors of a declaration are reported at once.
func TestMachineRefuses(t *testing.T) {
	t.Parallel()
	_, err := dbguard.NewMachine(dbguard.Declaration[int]{
		Name: "thing", States: []int{1, 2, 2, 3, 4, 5, 7},
		Moves: []dbguard.Move[int]{{1, 2}, {1, 2}, {2, 9}, {3, 3}, {1, 4}, {4, 5}, {2, 7}},
		Final: []int{4, 8},
	})
	if err == nil {
		t.Fatal("it was taken")
	}
	want := []string{
		"dbguard: the states of thing:",
		"the move from 1 to 2 is declared twice",
		"the move from 2 to 9: 9 is not among the states",
		"the move from 3 to itself: leave it out",
		"2 is declared twice",
		"3 cannot be reached from 1",
		"4 is final, but has a move to 5",
		"5 has no move out of it: declare one, or name it in Final",
		"7 has no move out of it: declare one, or name it in Final",
		"final 8 is not among the states",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("complaints (-want +got):\n%s", diff)
	}
	if _, err := dbguard.NewMachine(dbguard.Declaration[int]{Name: "nothing"}); err == nil {
		t.Error("a machine without states was taken")
	}
}

func TestMachineDraws(t *testing.T) {
	t.Parallel()
	m := orders(t)
	const mermaid = `stateDiagram-v2
    state "new" as s0
    state "paid" as s1
    state "shipped" as s2
    state "cancelled" as s3
    [*] --> s0
    s0 --> s1
    s0 --> s3
    s1 --> s2
    s2 --> [*]
    s3 --> [*]
`
	if diff := cmp.Diff(mermaid, m.Mermaid()); diff != "" {
		t.Errorf("Mermaid (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("new -> paid or cancelled\npaid -> shipped\nshipped (final)\ncancelled (final)\n", m.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// A column may pad what it holds, and should not be NULL.
func TestTransitionOfPaddedText(t *testing.T) {
	t.Parallel()
	m := orders(t)
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		db.Run(t, "CREATE TABLE orders (id int PRIMARY KEY, status char(20))", "INSERT INTO orders VALUES (1, 'new'), (2, NULL)")
		for i, want := range []bool{false, true, true} {
			if got, err := m.Transition(t.Context(), db, order(1), statePaid); got != want || err != nil {
				t.Errorf("call %d = %v, %v, want %v", i, got, err, want)
			}
		}
		_, err := m.Transition(t.Context(), db, order(2), statePaid)
		if !errors.Is(err, dbguard.ErrIllegalTransition) || !strings.Contains(err.Error(), "NULL") {
			t.Errorf("out of NULL: got %v, want an ErrIllegalTransition that says so", err)
		}
	})
}
