package webhook

import (
	"errors"
	"strconv"
	"testing"
)

// TestTargetsHaveABound (promise 8): of endpoints that failed, a bounded number is remembered, and of others none.
func TestTargetsHaveABound(t *testing.T) {
	t.Parallel()
	var all targets
	for i := range maxTargets + 100 {
		name := strconv.Itoa(i)
		failed := all.use(name)
		failed.noteAttempt(firstRest, errors.New("down"))
		all.leave(name, failed)
		well := all.use("well")
		well.noteAttempt(0, nil)
		all.leave("well", well)
	}
	if got := len(all.all); got != maxTargets {
		t.Errorf("%d endpoints are remembered, want %d", got, maxTargets)
	}
	busy := all.use("busy") // in use: not forgotten, so that it still gets one delivery at a time
	if all.use("busy") != busy {
		t.Error("an endpoint in use was forgotten")
	}
}
