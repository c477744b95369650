package main

import (
	"bytes"
	"testing"
)

// TestUsage: what makes no sense, or would prove nothing, is refused.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-only", "("}, {"-only", "no such scenario"}, {"-for", "0s"}, {"-writers", "0"}, {"postgres"}} {
		var said bytes.Buffer
		if code := run(t.Context(), args, &said, &said); code != 2 || said.Len() == 0 {
			t.Errorf("%v: exit code %d and %q, want a refusal", args, code, said.String())
		}
	}
}
