package services_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/examples/shop/services"
	"github.com/semel-dev/semel/internal/testserver"
)

// Promises 1, 2, 4: customers order while processes, the broker and the database are killed at
// random. Everything happens once for each order, unless a message waits in quarantine.
func TestStorm(t *testing.T) {
	t.Parallel()
	orders := 16
	if os.Getenv("SEMEL_LONG") != "" {
		orders = 260
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		storm(t, start(t, services.Options{Protected: true}), orders, nil)
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		server := testserver.StartPostgres(t, nil)
		storm(t, start(t, services.Options{Protected: true, OrdersDSN: server.DSN()}), orders, func() {
			server.Kill()
			server.Start()
		})
	})
}

// storm places orders while it kills what it can.
func storm(t *testing.T, f *services.Fleet, orders int, database func()) {
	t.Helper()
	const customers = 8
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var left, kills atomic.Int64
	left.Store(int64(orders))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var buying, killing sync.WaitGroup
	for customer := range customers {
		dice := rand.New(rand.NewPCG(seed, uint64(customer)))
		buying.Go(func() {
			for left.Add(-1) >= 0 && pause(ctx, time.Duration(dice.IntN(1500))*time.Millisecond) {
				if err := f.Order(ctx, fmt.Sprint(customer)); err != nil {
					t.Errorf("customer %d: %v", customer, err)
				}
			}
		})
	}
	killing.Go(func() {
		dice := rand.New(rand.NewPCG(seed, customers))
		kill := []func(){database}
		for _, role := range []string{"broker", "orders", "payment", "logistics"} {
			kill = append(kill, func() {
				if err := f.Kill(role); err != nil {
					t.Error(err)
				}
			})
		}
		for _, point := range []string{"payment/thrice", "payment/charged", "mail/thrice", "mail/sent"} { // what comes again has had its effect
			kill = append(kill, func() {
				if err := f.Arm(point); err != nil {
					t.Error(err)
				}
			})
		}
		for pause(ctx, time.Duration(50+dice.IntN(400))*time.Millisecond) {
			if one := kill[dice.IntN(len(kill))]; one != nil {
				one()
				kills.Add(1)
			}
		}
	})
	buying.Wait()
	stop()
	killing.Wait()
	if kills.Load() == 0 {
		t.Error("nothing was killed: the test showed nothing")
	}
	effects, held, err := f.Settled(t.Context(), orders, "payment", "mail")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills; %+v; %d messages are in quarantine", kills.Load(), effects, held)
	if !effects.Between(orders-held, orders) {
		t.Errorf("%+v, want %d of each, with %d in quarantine", effects, orders, held)
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
