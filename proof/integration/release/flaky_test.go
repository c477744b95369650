package release_test

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The closing lines of a run name each test that passed on its retry, with its first failure; a test that failed twice is not among them.
func TestFlakyNamesWhatPassedOnItsRetry(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), home+"/scripts/flaky", "testdata/flaky").CombinedOutput()
	must(t, err)
	const want = `
== FLAKY, failed and passed when run once more: each has found something
x/pkg TestOnce/in_"side"
        a_test.go:3: first failure
            second line
[shell] › tests/a.spec.ts:2:1 › flaky one
    Error: expect(received).toBe(expected) // Object.is equality
    Expected: 1
    Received: 0
      1 | import { test, expect } from "@playwright/test";
    > 2 | test("flaky one", ({}, info) => { expect(info.retry).toBe(1); });
        |                                                      ^
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
