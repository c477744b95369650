package services_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/examples/shop/services"
)

func TestMain(m *testing.M) {
	services.Child()
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, o services.Options) *services.Fleet {
	t.Helper()
	o.Dir = t.TempDir()
	if testing.Verbose() {
		o.Output = os.Stderr
	}
	f, err := services.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// The long form breaks an order at every point.
func chosen(short ...string) []string {
	if os.Getenv("SEMEL_LONG") != "" {
		return nil
	}
	return short
}

// Promises 1, 2, 4: whatever dies and whatever is lost, an order is one order, one charge, one
// shipment and one e-mail.
func TestProtected(t *testing.T) {
	t.Parallel()
	f := start(t, services.Options{Protected: true})
	only := chosen("orders/coupon", "orders/published", "payment/charged", "provider/thrice", "orders/paid", "mail/sent", "broker/kill")
	err := f.Play(t.Context(), only, func(r services.Result) {
		if !r.Right() {
			t.Errorf("%s: reached %v, %+v, %s; want one of each", r.Point.Name, r.Reached, r.Effects, r.Err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	if f.Deaths() == 0 {
		t.Error("no process died: the test showed nothing")
	}
}

// The same faults do harm without Semel, so the test above can fail.
func TestNaive(t *testing.T) {
	t.Parallel()
	f := start(t, services.Options{})
	err := f.Play(t.Context(), chosen("orders/order", "payment/charged"), func(r services.Result) {
		harmless := strings.HasSuffix(r.Point.Name, "/begin") // nothing was done yet
		if !r.Reached || r.Right() != harmless && r.Point.Name != "logistics/begin" && r.Point.Name != "broker/kill" {
			t.Errorf("%s: reached %v, %+v, %s; want harm, unless nothing was done", r.Point.Name, r.Reached, r.Effects, r.Err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// The report names what differs from once.
func TestCompare(t *testing.T) {
	t.Parallel()
	var report bytes.Buffer
	naive, protected := start(t, services.Options{}), start(t, services.Options{Protected: true})
	err := services.Compare(t.Context(), naive, protected, chosen("orders/order"), &report, io.Discard)
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"orders/order", "2 orders", "all once", "EXPECTED"} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &report)
		}
	}
}
