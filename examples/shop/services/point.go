package services

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Point is a place where something can be made to go wrong.
type Point struct {
	Name string // ROLE/PLACE
	What string // what happens there
	// Breaks says that the process dies at this point; otherwise it lives, and
	// an answer is lost or something is delivered three times.
	Breaks bool
}

// The points, in the order in which an order passes them.
func points() []Point {
	return []Point{
		{"orders/begin", "die before anything is written", true},
		{"orders/order", "die after the order is written", true},
		{"orders/stock", "die after the stock is taken", true},
		{"orders/coupon", "die after the coupon is used", true},
		{"orders/points", "die after the points are added", true},
		{"orders/written", "die when all is written, before the commit", true},
		{"orders/publish", "die when all is committed, before the message is published", true},
		{"orders/published", "die when the message is published, before that is noted", true},
		{"orders/answer", "lose the answer to the customer", false},
		{"payment/begin", "die when the message arrives", true},
		{"payment/charged", "die when the card is charged, before that is noted", true},
		{"payment/ack", "die before the message is acknowledged", true},
		{"payment/thrice", "deliver the message three times", false},
		{"provider/answer", "charge the card and lose the answer", false},
		{"provider/thrice", "send the callback three times at once", false},
		{"orders/paid", "die when the payment is booked, before the shipment is ordered", true},
		{"orders/shipped", "die when the shipment is ordered, before that is noted", true},
		{"orders/callback", "die before the callback is answered", true},
		{"logistics/begin", "die when the shipment is asked for", true},
		{"logistics/written", "die when the shipment is written", true},
		{"logistics/answer", "lose the answer about the shipment", false},
		{"mail/begin", "die when the message arrives", true},
		{"mail/sent", "die when the e-mail is sent, before that is noted", true},
		{"mail/ack", "die before the message is acknowledged", true},
		{"mail/thrice", "deliver the message three times", false},
		{brokerPoint, "kill the broker while the order is on its way", true},
	}
}

// brokerPoint is reached by the supervisor, which kills the broker.
const brokerPoint = "broker/kill"

// faults arms points and lets the processes of a fleet reach them. An armed
// point is a file, so that of all processes one removes it.
type faults struct{ dir string }

func (f faults) path(name string) string {
	return filepath.Join(f.dir, strings.ReplaceAll(name, "/", "_"))
}

func (f faults) arm(name string) error {
	return os.WriteFile(f.path(name), nil, 0o600)
}

// consume disarms a point, and reports whether it was armed.
func (f faults) consume(name string) bool { return os.Remove(f.path(name)) == nil }

// die ends the process at an armed point as a power cut would.
func (f faults) die(name string) {
	if f.consume(name) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal is there
	}
}

// loses cuts the connection instead of the answer that next gives, if the point is armed.
func (f faults) loses(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.consume(name) {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(&unheard{header: http.Header{}}, r)
		panic(http.ErrAbortHandler) //nolint:forbidigo // as net/http wants it
	})
}

// unheard takes an answer that is never sent.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }
func (u *unheard) WriteHeader(int)             {}
