package testserver_test

import (
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
)

// Eventually fails while go test still runs, which names no failure of a test that it has to kill.
func TestEventuallyFailsInTime(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(300 * time.Millisecond)
	defer func() {
		if recover() == nil || time.Now().After(end.Add(time.Minute)) {
			t.Errorf("%v after the end of go test it had not failed", time.Since(end))
		}
	}()
	testserver.Eventually(late{t, end}, "it happens", func() bool { return false })
}

// late is a test that go test kills soon.
type late struct {
	testing.TB

	end time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.end, true }

func (late) Fatalf(string, ...any) { panic("failed") } // ends the caller, as Fatalf does
