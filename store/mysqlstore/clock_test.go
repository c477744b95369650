package mysqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// Promise 9: a claim that replaces a record is dated by the same clock that let
// it do so. When that is set back between the two statements it takes, the
// record lives.
func TestClockSetBackDuringClaim(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		end   func(s *mysqlstore.Store, rec semel.Record)
		ahead time.Duration
		want  semel.State
	}{
		{"lapsed", func(*mysqlstore.Store, semel.Record) {}, lease + time.Second, semel.StateClaimed},
		{"expired", func(s *mysqlstore.Store, rec semel.Record) { settles(t, s, rec, completed("done")) }, retention + time.Minute, semel.StateCompleted},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := pool(t, testserver.MySQLDatabase(t), fast)
			db.SetMaxOpenConns(1) // whose variable is the clock
			s := newStore(t, db, mysqlstore.Shifted(&mysqlstore.Options{}))
			rec := wins(t, s, params("k"))
			test.end(s, rec)
			execute(t, db, "CREATE TRIGGER set_back AFTER DELETE ON semel_record FOR EACH ROW SET @ahead = 0")
			execute(t, db, fmt.Sprintf("SET @ahead = %d", test.ahead.Milliseconds()))
			p := by(2, params("k"))
			p.TakeOver = rec.Fence
			got, won, err := s.Claim(t.Context(), p)
			if err != nil || won || got.Fence != rec.Fence || got.State != test.want {
				t.Errorf("got %v with fence %d, won %v, error %v, want %v with fence %d", got.State, got.Fence, won, err, test.want, rec.Fence)
			}
			execute(t, db, "DROP TRIGGER set_back")
			execute(t, db, fmt.Sprintf("SET @ahead = %d", test.ahead.Milliseconds()))
			if next := wins(t, s, p); next.Fence <= rec.Fence {
				t.Errorf("got fence %d after %d", next.Fence, rec.Fence)
			}
		})
	}
}

// Promise 9: a record that expires between the two statements of a takeover is not taken over: the intent begins anew.
func TestExpiresDuringTakeOver(t *testing.T) {
	t.Parallel()
	db := pool(t, testserver.MySQLDatabase(t), fast)
	db.SetMaxOpenConns(1) // whose variable is the clock
	s := newStore(t, db, mysqlstore.Shifted(&mysqlstore.Options{}))
	p := params("k")
	p.TakeOver = wins(t, s, params("k")).Fence
	execute(t, db, fmt.Sprintf("CREATE TRIGGER expires AFTER DELETE ON semel_record FOR EACH ROW SET @ahead = %d", (lease+retention+time.Second).Milliseconds()))
	execute(t, db, fmt.Sprintf("SET @ahead = %d", (lease+time.Second).Milliseconds()))
	if rec := wins(t, s, p); rec.Attempt != 1 || rec.Fence <= p.TakeOver {
		t.Errorf("got attempt %d with fence %d after %d, want the first attempt of an intent", rec.Attempt, rec.Fence, p.TakeOver)
	}
}
