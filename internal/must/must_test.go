package must_test

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/must"
)

func TestBrokenInvariantsPanicWithTheirSentence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call func()
		want string
	}{
		"hold":    {func() { must.Hold(false, "fence %d grows", 7) }, "broken invariant: fence 7 grows"},
		"succeed": {func() { must.Succeed(io.EOF, "hash %s writes", "x") }, "broken invariant: hash x writes: EOF"},
		"get":     {func() { must.Get(3, io.EOF) }, "broken invariant: int has no error: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := violationOf(t, test.call)
			if diff := cmp.Diff(test.want, got.Error()); diff != "" {
				t.Errorf("panic text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeptInvariantsReturn(t *testing.T) {
	t.Parallel()
	must.Hold(true, "one is one")
	must.Succeed(nil, "nothing went wrong")
	if got := must.Get(42, nil); got != 42 {
		t.Errorf("Get(42, nil) = %d, want 42", got)
	}
}

func TestCauseIsFoundByErrorsIs(t *testing.T) {
	t.Parallel()
	got := violationOf(t, func() { must.Succeed(io.ErrUnexpectedEOF, "embedded file is whole") })
	if !errors.Is(got, io.ErrUnexpectedEOF) {
		t.Errorf("errors.Is(%v, io.ErrUnexpectedEOF) = false, want true", got)
	}
}

// violationOf runs call and returns what it panicked with.
func violationOf(t *testing.T, call func()) (violation *must.InvariantError) {
	t.Helper()
	defer func() {
		t.Helper()
		var ok bool
		if violation, ok = recover().(*must.InvariantError); !ok {
			t.Fatal("the call did not panic with a *must.InvariantError")
		}
	}()
	call()
	return nil
}
