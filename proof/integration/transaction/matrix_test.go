package transaction_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
)

var update = flag.Bool("update", false, "write what was observed into docs/storage.md")

const (
	page  = "../../../docs/storage.md"
	begin = "<!-- Begin: proof/integration/transaction writes this (go test -run Matrix -update). -->\n"
	end   = "<!-- End. -->"
	// patience bounds one cell, so that one that waits for itself is seen.
	patience = 10 * time.Second
)

// What a cell can be; nothing else is right.
const (
	together    = "together"
	refused     = "refused"
	independent = "independent"
	missing     = "–"
)

type scenario string

const (
	allSucceed  scenario = "all succeed"
	innerFails  scenario = "the inner one fails"
	outerFails  scenario = "the outer one fails after it"
	contextEnds scenario = "the context ends in the inner one"
)

var (
	errInner = errors.New("the inner one fails")
	errOuter = errors.New("the outer one fails")
	errProbe = errors.New("it was not done before")
)

// cell is something inside of something else.
type cell struct {
	*place

	door   door
	holder holder
}

// played tells how one attempt ended.
type played struct {
	ran          bool
	inner, outer error
}

// play executes the inner intent in the outer one.
func (c *cell) play(t *testing.T, s scenario, innerName, outerName string) (got played) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got.outer = c.holder.call(c.place, ctx, outerName, func(ctx context.Context) error {
		if c.holder.undoes {
			if err := c.write(ctx, outer(outerName)); err != nil {
				return err
			}
		}
		got.inner = c.door.call(c.place, ctx, innerName, func(ctx context.Context) error {
			got.ran = !c.door.statement
			if got.ran && (c.door.undoes || s != innerFails) {
				if err := c.write(ctx, inner(innerName)); err != nil {
					return err
				}
			}
			switch s {
			case innerFails:
				return errInner
			case contextEnds:
				cancel()
				return ctx.Err()
			case allSucceed, outerFails:
			}
			return nil
		})
		switch {
		case s == outerFails:
			return errOuter
		case s == contextEnds, c.door.breaks:
			return got.inner
		}
		return nil
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("%v: it waited for itself: %v, %v", s, got.inner, got.outer)
	}
	c.wantRows(t, s, got.outer, outerName)
	return got
}

// wantRows fails unless the outer row is there exactly when the outer intent was done.
func (c *cell) wantRows(t *testing.T, s scenario, err error, name string) {
	t.Helper()
	want := 0
	if c.holder.undoes && err == nil {
		want = 1
	}
	if got := c.rows(t, outer(name)); got != want {
		t.Errorf("%v: the outer one ended with %v and has %d rows, want %d", s, err, got, want)
	}
}

func (p *place) write(ctx context.Context, row string) error {
	_, err := p.handle(ctx).ExecContext(ctx, p.insert, row)
	return err
}

// rows counts committed effects.
func (p *place) rows(t *testing.T, row string) (n int) {
	t.Helper()
	mark := p.insert[strings.LastIndex(p.insert, "(")+1 : len(p.insert)-1]
	must(t, p.pool.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM effects WHERE name = "+mark+")", row).Scan(&n))
	return n
}

// done reports whether the inner intent says that it is done, and fails unless its effect agrees. unknown means that it does not say.
func (c *cell) done(t *testing.T, s scenario, name string) bool {
	t.Helper()
	done, unknown := false, false
	rows := c.rows(t, inner(name))
	ask := func(ctx context.Context) error {
		ran := false
		err := c.door.call(c.place, ctx, name, func(context.Context) error { ran = !c.door.statement; return errProbe })
		done, unknown = err == nil && !ran, errors.Is(err, semel.ErrUnknown)
		return errProbe
	}
	switch c.door.name {
	case "`outbox.Add`":
		mark := c.insert[strings.LastIndex(c.insert, "(")+1 : len(c.insert)-1]
		must(t, c.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM semel_outbox WHERE id = "+mark, name).Scan(&rows))
		done = rows == 1
	case "`dbguard.Once`": // which needs a transaction
		_, _ = semel.DoTx(t.Context(), c.guard, c.transactor, keyOf("probe "+name), semel.Fingerprint{}, intent(ask))
	default:
		_ = ask(t.Context())
	}
	if rows > 1 || !unknown && done != (rows == 1) || unknown && s != contextEnds {
		t.Errorf("%v: done %v, unknown %v, and it has %d rows", s, done, unknown, rows)
	}
	return done
}

// observe plays every scenario, and returns what the cell is with another key and with the same one.
func (c *cell) observe(t *testing.T, n int) (other, same string) {
	t.Helper()
	name := func(s scenario) (inner, outer string) {
		return fmt.Sprintf("%d i %v", n, s), fmt.Sprintf("%d o %v", n, s)
	}
	in, out := name(allSucceed)
	got := c.play(t, allSucceed, in, out)
	other = together
	switch done := c.done(t, allSucceed, in); {
	case !done && !got.ran && got.inner != nil:
		other = refused
		if text := got.inner.Error(); !strings.Contains(text, " (") && !strings.Contains(text, ": call it") {
			t.Errorf("the refusal does not say what to do: %v", got.inner)
		}
	case !done || got.inner != nil || got.outer != nil:
		t.Errorf("it was not done: %v, %v", got.inner, got.outer)
	}
	in, out = name(outerFails)
	c.play(t, outerFails, in, out)
	if c.done(t, outerFails, in) {
		other = independent
	}
	in, out = name(innerFails)
	got = c.play(t, innerFails, in, out)
	if c.done(t, innerFails, in) || got.inner == nil || !c.door.breaks && got.outer != nil {
		t.Errorf("%v: got %v, and around it %v", innerFails, got.inner, got.outer)
	}
	in, out = name(contextEnds)
	c.play(t, contextEnds, in, out)
	if !c.done(t, contextEnds, in) && other == together {
		if got := c.play(t, allSucceed, in, out); got.outer != nil || !c.done(t, allSucceed, in) {
			t.Errorf("once more, after the end of the context: got %v, %v", got.inner, got.outer)
		}
	}
	if c.holder.name == "nothing" {
		return other, missing
	}
	in = fmt.Sprintf("%d same", n)
	got = c.play(t, allSucceed, in, in)
	switch {
	case !got.ran && got.inner != nil && (got.outer == nil || c.door.breaks):
		same = refused
		if n := c.rows(t, inner(in)); n != 0 {
			t.Errorf("the same key: it was refused with %v, and has %d rows", got.inner, n)
		}
	case got.inner == nil && got.outer == nil && c.done(t, allSucceed, in):
		same = other
	default:
		t.Errorf("the same key: got %v, %v", got.inner, got.outer)
	}
	return other, same
}

// Promises 3 and 4, in every combination: what says that it is done has its effect, once, and every store says the same.
func TestMatrix(t *testing.T) { //nolint:tparallel // the cells of a database follow one another
	t.Parallel()
	var mu sync.Mutex // guards the fields below
	seen := map[[2]string][2]string{}
	t.Run("databases", func(t *testing.T) {
		for name, open := range databases() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := openPlace(t, open(t))
				n := 0
				for _, d := range doors() {
					if d.among != nil && !d.among(p.database) {
						continue
					}
					for _, h := range holders() {
						n++
						c := cell{p, d, h}
						t.Run(d.name+" in "+h.name, func(t *testing.T) { //nolint:paralleltest // see TestMatrix
							other, same := c.observe(t, n)
							mu.Lock()
							defer mu.Unlock()
							is := [2]string{other, same}
							if before, ok := seen[[2]string{d.name, h.name}]; ok && before != is {
								t.Errorf("it is %v, and on another store %v", is, before)
							}
							seen[[2]string{d.name, h.name}] = is
						})
					}
				}
			})
		}
	})
	if !t.Failed() {
		compare(t, tables(seen))
	}
}

// tables are the two tables of the page.
func tables(seen map[[2]string][2]string) string {
	var b strings.Builder
	for i, title := range []string{"another key, inside of", "the same key, inside of"} {
		b.WriteString("| " + title)
		for _, h := range holders()[i:] {
			b.WriteString(" | " + h.name)
		}
		b.WriteString(" |\n" + strings.Repeat("|---", len(holders())+1-i) + "|\n")
		for _, d := range doors() {
			b.WriteString("| " + d.name)
			for _, h := range holders()[i:] {
				b.WriteString(" | " + seen[[2]string{d.name, h.name}][i])
			}
			b.WriteString(" |\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// compare fails unless the page has these tables.
func compare(t *testing.T, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the tables", page)
	}
	if *update {
		must(t, os.WriteFile(page, []byte(before+begin+"\n"+want+end+after), 0o600))
		return
	}
	if diff := cmp.Diff("\n"+want, got); diff != "" {
		t.Errorf("%s is not what was observed (run this test with -update): -observed +page\n%s", page, diff)
	}
}
