package forms

import (
	"strconv"
	"testing"
)

// TestDraftsAreBounded: a draft is remembered until maxDrafts others have come, and there
// are never more than twice as many.
func TestDraftsAreBounded(t *testing.T) {
	t.Parallel()
	var d drafts
	for i := range 3*maxDrafts + 1 {
		if before := d.swap(strconv.Itoa(i), []uint64{uint64(i)}); before != nil {
			t.Fatalf("draft %d was sent before: %v", i, before)
		}
		if i < maxDrafts {
			continue
		}
		if n := len(d.young) + len(d.old); n > 2*maxDrafts {
			t.Fatalf("%d drafts are remembered", n)
		}
	}
	last := 3 * maxDrafts
	for _, i := range []int{last, last - maxDrafts} {
		if before := d.swap(strconv.Itoa(i), nil); len(before) != 1 || before[0] != uint64(i) {
			t.Errorf("draft %d looked like %v", i, before)
		}
	}
	if before := d.swap("0", nil); before != nil {
		t.Errorf("the first draft is still remembered: %v", before)
	}
}
