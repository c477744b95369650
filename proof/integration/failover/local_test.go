package failover_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
)

// Where synchronous_commit is local, commits do not wait for the synchronous standby: what was acknowledged is lost by a failover
// (promises 1 and 2). The store warns.
func TestLocalPromotion(t *testing.T) {
	t.Parallel()
	p := newPair(t, true)
	execute(t, p.primary.DSN(), "ALTER DATABASE postgres SET synchronous_commit = local")
	var log bytes.Buffer
	s := p.storeWith(t, "", &log)
	if !strings.Contains(log.String(), "synchronous_commit is local") {
		t.Errorf("got the log %q, want a warning about synchronous_commit", &log)
	}
	p.waitReplayed(t)
	p.link.Down()
	acknowledge(t, s, 0, 1)
	p.fail()
	if rec := lookup(t, s, digest(0, 0)); rec.State != semel.StateAbsent {
		t.Errorf("got %v for what the standby did not get, want absent: the warning is wrong", rec.State)
	}
}
