package semel_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

var _ driver.Valuer = semel.Fence(0)

// A fence that a BIGINT cannot hold, and no fence, never reach a database:
// there they would be the smallest.
func TestFenceAsBigint(t *testing.T) {
	t.Parallel()
	for fence, fits := range map[semel.Fence]bool{
		0: false, 1: true, math.MaxInt64: true, math.MaxInt64 + 1: false, math.MaxUint64: false,
	} {
		got, err := fence.Int64()
		if fits != (err == nil) || fits && (got <= 0 || semel.Fence(got) != fence) {
			t.Errorf("Int64 of %d: got %d, %v; want it to fit: %t", uint64(fence), got, err, fits)
		}
		value, err := fence.Value()
		if fits != (err == nil) || fits && value != got {
			t.Errorf("Value of %d: got %v, %v; want it to fit: %t", uint64(fence), value, err, fits)
		}
	}
}

// The work hands its fence to what it writes to. A holder that was paused
// until another took over has the smaller one.
func ExampleFence_Int64() {
	store := memstore.New(nil)
	defer store.Close()
	g, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer g.Close()

	key := semel.Key{Scope: "tenant-7 set level", Name: "k1"}
	_, err = semel.Do(context.Background(), g, key, semel.FingerprintOf("level=3"), func(ctx context.Context) (int, error) {
		fence, err := semel.FenceFrom(ctx).Int64()
		if err != nil {
			return 0, err
		}
		// UPDATE stock SET level = 3, fence = $1 WHERE sku = 'bolt' AND fence <= $1
		fmt.Println("a BIGINT:", fence > 0)
		return 3, nil
	})
	if err != nil {
		panic(err)
	}
	_, err = semel.FenceFrom(context.Background()).Int64()
	fmt.Println(err)
	// Output:
	// a BIGINT: true
	// semel: no fence: hand on the context of the claim's work
}

// A Fence is an argument of database/sql as it is.
func ExampleFence_Value() {
	value, err := semel.Fence(7).Value()
	fmt.Printf("%T %[1]v %v\n", value, err)
	// Output: int64 7 <nil>
}
