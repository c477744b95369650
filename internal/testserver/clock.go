package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// Clock is a clock of servers that a test moves.
type Clock = dbserver.Clock

// NewClock makes a clock that is as the machine's until it is set.
func NewClock(tb testing.TB) *Clock {
	tb.Helper()
	h, err := home()
	require(tb, err)
	c, err := h.Clock()
	require(tb, err)
	return c
}
