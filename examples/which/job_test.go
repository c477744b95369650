package which_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// A job that sends a mail, in whatever queue: it arrives again when its worker dies, or was
// slow.
func Example_job() {
	ctx := context.Background()
	guard, err := semel.New(memstore.New(nil), nil)
	check(err)
	defer guard.Close()
	sent := 0
	send := func(context.Context) (string, error) {
		sent++
		return fmt.Sprint("message ", sent), nil
	}

	work := func(ctx context.Context, job, to string) (string, error) {
		key := semel.Key{Scope: "jobs send mail", Name: job} // the queue's id of the job, or better of its wish
		return semel.Do(ctx, guard, key, semel.FingerprintOf(to), send)
	}

	fmt.Println(work(ctx, "1742", "ada@example.com"))
	fmt.Println(work(ctx, "1742", "ada@example.com")) // the queue gives the job out again
	_, err = work(ctx, "1742", "bob@example.com")     // another job under an id that was used
	fmt.Println(errors.Is(err, semel.ErrMismatch), sent, "sent")
	// Output:
	// message 1 <nil>
	// message 1 <nil>
	// true 1 sent
}
