package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/operator"
)

// Two processes, lapsing leases, errors, panics and a background at once.
func TestStress(t *testing.T) {
	t.Parallel()
	g, store, clock := inMemory(t, semel.Options{Policy: semel.Policy{Wait: 50 * time.Millisecond}}, nil)
	g2 := another(t, store, semel.Policy{Wait: 50 * time.Millisecond})
	var mu sync.Mutex
	seen := map[string]bool{} // KeyFrom
	net := map[string]int{}   // flow/step
	calm := false
	trouble := func() error {
		mu.Lock()
		quiet := calm
		mu.Unlock()
		if quiet {
			return nil
		}
		switch rand.N(12) {
		case 0:
			return errDown
		case 1:
			return semel.MarkReleased(errDown)
		case 2:
			clock.Advance(40 * time.Second)
		case 3:
			time.Sleep(time.Duration(rand.N(5)) * time.Millisecond) // the work takes a while; nothing waits for it
		case 4:
			panic("chaos")
		}
		return nil
	}
	effect := func(ctx context.Context, name string, by int) {
		mu.Lock()
		defer mu.Unlock()
		if key := flow.KeyFrom(ctx); !seen[key] {
			seen[key] = true
			net[name] += by
		}
	}
	dedupes := flow.CalleeDedupes(1000 * time.Hour)
	def := flow.Define("buy", func(r *flow.Run, in int) (string, error) {
		for i := range 4 {
			name := fmt.Sprintf("%d/%d", in, i)
			_, err := flow.Call(r, fmt.Sprint("s", i), in, func(ctx context.Context, _ int) (int, error) {
				if i == 3 && in%2 == 1 {
					if err := trouble(); err != nil {
						return 0, err
					}
					return 0, semel.MarkFinal(errors.New("no"))
				}
				effect(ctx, name, 1)
				return i, trouble()
			}, dedupes, flow.Undo(func(ctx context.Context, _ int) error { effect(ctx, name, -1); return trouble() }, dedupes))
			if err != nil {
				return "", err
			}
		}
		return "ok", nil
	})
	bg := &flow.Options{MaxAge: 1000 * time.Hour, Background: &operator.Unattended{Every: 2 * time.Millisecond, MinPause: time.Millisecond, MaxAttempts: 1 << 30}}
	f1, f2 := newFlows(t, g, bg, def), newFlows(t, g2, bg, def)
	const n = 30
	var all sync.WaitGroup
	begin := time.Now()
	for w := range 8 {
		all.Go(func() {
			for time.Since(begin) < 2*time.Second {
				f := f1
				if w%2 == 0 {
					f = f2
				}
				in := rand.N(n)
				func() {
					defer func() { _ = recover() }()
					_, _ = flow.Start(t.Context(), f, def, semel.Key{Scope: "a", Name: fmt.Sprint(in)}, in)
				}()
			}
		})
	}
	all.Wait()
	mu.Lock()
	calm = true
	mu.Unlock()
	for in := range n {
		var got string
		var err error
		for range 50 {
			clock.Advance(time.Minute)
			got, err = flow.Start(t.Context(), f1, def, semel.Key{Scope: "a", Name: fmt.Sprint(in)}, in)
			if _, failed := errors.AsType[*flow.Failed](err); err == nil || failed {
				break
			}
		}
		want := 1
		if in%2 == 1 {
			want = 0
		}
		mu.Lock()
		sum := []int{}
		for i := range 4 {
			sum = append(sum, net[fmt.Sprintf("%d/%d", in, i)])
		}
		mu.Unlock()
		if sum[0] != want || sum[1] != want || sum[2] != want || sum[3] != want || (got == "ok") != (want == 1) {
			t.Errorf("%d: %q %v, effects %v", in, got, err, sum)
		}
	}
}
