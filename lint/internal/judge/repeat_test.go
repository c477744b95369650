package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
)

// A statement of which the linter says that the second run answers the same does so, and one that is refused is so with
// the error that it names.
func TestRepeat(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			w := newTwice(t, d)
			s := w.define(t, read(t, "schema_"+d.String()+".sql"))
			counts := map[judge.Repeat]int{}
			for _, r := range truths(t, d) {
				if !r.safe {
					continue
				}
				got := verdict(t, d, s, r.statement)
				if counts[got.Repeat]++; r.defines() {
					continue
				}
				for fill := range uint64(3) {
					w.rowsOfTruth(t, fill)
					first, errFirst := w.conn.ExecContext(t.Context(), r.statement)
					if errFirst != nil {
						continue
					}
					second, err := w.conn.ExecContext(t.Context(), r.statement)
					a, _ := first.RowsAffected()
					b := a
					if err == nil {
						b, _ = second.RowsAffected()
					}
					_, isQuery := strings.CutPrefix(r.statement, "select")
					if got.Repeat == judge.RepeatSame && (err != nil || a != b && !isQuery) {
						t.Errorf("%s: said to answer the same: %d rows, then %d (%v)", r.statement, a, b, err)
					}
					if got.Repeat == judge.RepeatRefused && err != nil && d != lite && !strings.Contains(err.Error(), strings.Fields(got.Refusal + " refused")[1]) {
						t.Errorf("%s: said to be refused with %s: %v", r.statement, got.Refusal, err)
					}
				}
			}
			t.Logf("%s: %v", d, counts)
		})
	}
}

// rowsOfTruth fills the tables of the truth.
func (w *twice) rowsOfTruth(t *testing.T, fill uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(fill, 1))
	list := []string{"delete from chi"} // which refers to another
	for _, table := range w.tables {
		list = append(list, "delete from "+table)
	}
	for i := 1; i <= 5; i++ {
		list = append(list,
			fmt.Sprintf("insert into t(id,n,m,status,owner,name,a,b) values (%d,%d,%d,%d,%d,'abc',%d,%d)", i, r.IntN(9), r.IntN(9), r.IntN(4), r.IntN(3), r.IntN(9), r.IntN(9)),
			fmt.Sprintf("insert into s values (%d,%d)", i, r.IntN(50)), fmt.Sprintf("insert into gen(id,a,n) values (%d,%d,%d)", i, r.IntN(8), r.IntN(5)),
			fmt.Sprintf("insert into upd(id,n) values (%d,%d)", i, r.IntN(5)), fmt.Sprintf("insert into trg(id,n,status) values (%d,%d,%d)", i, r.IntN(5), r.IntN(4)),
			fmt.Sprintf("insert into trs(id,n,status) values (%d,%d,%d)", i, r.IntN(5), r.IntN(4)), fmt.Sprintf("insert into par values (%d,'c%d',0)", i, i),
			fmt.Sprintf("insert into ci values (%d,'abc',0)", i))
		if fill > 0 || i == 1 {
			list = append(list, fmt.Sprintf("insert into uq(id,k,n) values (%d,'k%d',3)", 100+i, i*int(fill)))
		}
	}
	w.batch(t, list)
}
