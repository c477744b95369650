package semelgrpc

import (
	"fmt"
	"testing"
)

// TestMethodsHaveABound: promise 8: a server that takes unknown methods does not remember them all.
func TestMethodsHaveABound(t *testing.T) {
	t.Parallel()
	var m methods
	asked := 0
	decide := func(string) KeyPolicy {
		asked++
		return KeyRequired
	}
	for range 2 {
		for i := range 2 * maxMethods {
			if got := m.policy(fmt.Sprint("/unknown/", i), decide); got != KeyRequired {
				t.Fatalf("got %v", got)
			}
		}
	}
	known := 0
	m.known.Range(func(any, any) bool { known++; return true })
	if known != maxMethods || asked != 3*maxMethods {
		t.Errorf("%d methods are remembered, and %d questions were asked; want %d and %d", known, asked, maxMethods, 3*maxMethods)
	}
}
