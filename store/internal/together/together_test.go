package together_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/together"
)

// lanes is a queue whose transactions wait for a turn, and note how many members they took.
type lanes struct {
	together.Queue[int]

	turn         chan struct{}
	mu           sync.Mutex // guards the fields below
	transactions []int
	open         int
	most         int // lanes that were open at a time
}

func open(end error) *lanes {
	l := &lanes{turn: make(chan struct{})}
	l.Go = func(lane func()) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open++
		l.most = max(l.most, l.open)
		go func() {
			lane()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.open--
		}()
		return nil
	}
	l.Transact = func() {
		<-l.turn
		members := l.Next()
		l.mu.Lock()
		l.transactions = append(l.transactions, len(members))
		l.mu.Unlock()
		together.Answer(members, end)
	}
	return l
}

// Promise 8: transactions at a time, calls of one, and calls that wait are bounded.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := open(nil)
		alone := 0
		var mu sync.Mutex // guards alone
		var wg sync.WaitGroup
		for i := range 1100 {
			wg.Go(func() {
				if err := l.Join(together.NewMember(t.Context(), i)); errors.Is(err, together.ErrAlone) {
					mu.Lock()
					defer mu.Unlock()
					alone++
				}
			})
		}
		synctest.Wait()
		if n := l.Waiting(); n != 1024 || alone != 76 {
			t.Errorf("%d calls wait, and %d went alone", n, alone)
		}
		close(l.turn)
		wg.Wait()
		synctest.Wait()
		l.transactions = slices.DeleteFunc(l.transactions, func(n int) bool { return n == 0 }) // a lane whose calls the other one took
		if len(l.transactions) != 1024/together.Most || l.most != together.Lanes || l.open != 0 {
			t.Errorf("transactions of %v calls, %d lanes at a time, %d left", l.transactions, l.most, l.open)
		}
	})
}

// A caller that goes away while it waits takes its call along; one whose call has left waits for the answer.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := open(nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Join(together.NewMember(ctx, 1)); !errors.Is(err, semel.ErrRolledBack) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if n := l.Waiting(); n != 0 {
			t.Errorf("%d calls wait", n)
		}
		close(l.turn)
	})
}

// A caller whose context ended with a transaction that was undone gets the reason of its context.
func TestUndoneTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := open(together.ErrAlone)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := together.NewMember(ctx, 1)
		joined := make(chan error)
		go func() { joined <- l.Join(m) }()
		synctest.Wait() // the lane has begun, and waits for its turn
		m.End(together.ErrAlone)
		if err := m.Commit(t.Context(), nil); !errors.Is(err, together.ErrAlone) {
			t.Errorf("got %v, want to go alone while there is time", err)
		}
		l.turn <- struct{}{}
		if err := <-joined; !errors.Is(err, together.ErrAlone) {
			t.Errorf("got %v, want to go alone while there is time", err)
		}
		<-ctx.Done()
		late := together.NewMember(ctx, 2)
		late.End(together.ErrAlone)
		if err := late.Commit(t.Context(), nil); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, semel.ErrRolledBack) || errors.Is(err, together.ErrAlone) {
			t.Errorf("got %v, want the end of the context", err)
		}
		close(l.turn)
	})
}

// A text that is to go alone does so for a while; and where no lane can be opened, all go alone.
func TestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := open(nil)
		l.Separate("a", "b")
		if l.MayShare("c", "a") || l.MayShare("b") || !l.MayShare("c") {
			t.Error("the texts that go alone are others")
		}
		time.Sleep(2 * time.Second)
		if !l.MayShare("a", "b") {
			t.Error("they go alone for ever")
		}
		l.Go = func(func()) error { return semel.ErrClosed }
		if err := l.Join(together.NewMember(t.Context(), 1)); !errors.Is(err, together.ErrAlone) {
			t.Errorf("got %v", err)
		}
	})
}

// A function that makes nothing, or nothing in time, is found.
func TestCollect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		members := []*together.Member[int]{together.NewMember(t.Context(), 0), together.NewMember(t.Context(), 1), together.NewMember(t.Context(), 2)}
		want := &semel.Settlement{Note: "made"}
		go func() { _ = members[0].Commit(t.Context(), want) }()
		if votes, without := together.Collect(members[:1], time.Second); without != nil || len(votes) != 1 || votes[0] != want {
			t.Errorf("got %v, without %v", votes, without)
		}
		members[0].End(nil)
		members[1].Refuse()
		if _, without := together.Collect(members[1:2], time.Second); without != members[1] {
			t.Errorf("got %v", without)
		}
		if _, without := together.Collect(members[2:], time.Second); without != members[2] {
			t.Errorf("got %v", without)
		}
	})
}

func TestBegins(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{"\n Insert\tINTO t": "insert", "VALUES(1)": "values", "commit": "commit", "": "", "/* x */ DELETE": "/*", "delete;commit": "delete;commit"} {
		if got := together.Begins(sql); got != want {
			t.Errorf("%q begins with %q, want %q", sql, got, want)
		}
	}
}
