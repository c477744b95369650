package pgstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// Text that PostgreSQL cannot hold is replaced in notes, which come from any
// error's words, and refused in names.
func TestTextThatIsNone(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for i, note := range []string{
		"zero \x00 byte", "\xff\xfe\xfd", "cut in the middle of a rune: \xe4\xb8", strings.Repeat("\xff ", 127), strings.Repeat("\x00", semel.MaxNoteBytes),
	} {
		rec := wins(t, s, params(fmt.Sprint(i)))
		settles(t, s, rec, semel.Settlement{State: semel.StateUnknown, Note: note, Retention: retention})
		got, err := s.Lookup(t.Context(), rec.Digest)
		if err != nil || !utf8.ValidString(got.Note) || strings.ContainsRune(got.Note, 0) || got.Note == "" || len(got.Note) > semel.MaxNoteBytes {
			t.Errorf("%q became %q, error %v", note, got.Note, err)
		}
	}
	for _, bad := range []string{"\x00", "a\xffb"} {
		p, q := params("scope"), params("name")
		p.Scope, q.Name = bad, bad
		for _, p := range []semel.ClaimParams{p, q} {
			if _, won, err := s.Claim(t.Context(), p); won || !errors.Is(err, semel.ErrKeyInvalid) {
				t.Errorf("%q: got won %v, error %v, want %v", bad, won, err, semel.ErrKeyInvalid)
			}
		}
		answers, _, err := s.Batch(t.Context(), []semel.ClaimParams{p, params(fmt.Sprintf("beside %q", bad))}, nil)
		if err != nil || !errors.Is(answers[0].Err, semel.ErrKeyInvalid) || !answers[1].Won {
			t.Errorf("%q in a batch: got %+v, error %v, want it refused alone", bad, answers, err)
		}
		for _, list := range []semel.ListParams{{Scope: bad}, {Name: bad}} {
			if page, err := s.List(t.Context(), list); err != nil || len(page.Records) != 0 {
				t.Errorf("%q: got %d records, error %v, want none", bad, len(page.Records), err)
			}
		}
	}
}

// What is too large is refused as such, and the claim stays as it was.
func TestOutcomeTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	rec, other := wins(t, s, params("k")), wins(t, s, params("l"))
	large := completed("")
	large.Outcome = make([]byte, pgstore.MaxOutcomeBytes+1)
	wantErr(t, "", s.Settle(t.Context(), rec.Digest, rec.Fence, large), semel.ErrFull)
	_, errs, err := s.Batch(t.Context(), nil, []semel.SettleParams{
		{Digest: rec.Digest, Fence: rec.Fence, Settlement: large},
		{Digest: other.Digest, Fence: other.Fence, Settlement: completed("beside it")},
	})
	if err != nil || !errors.Is(errs[0], semel.ErrFull) || errs[1] != nil {
		t.Errorf("got %v, error %v, want only the first to be %v", errs, err, semel.ErrFull)
	}
	settles(t, s, rec, completed("smaller"))
}

// A row that another program wrote is an error, and no record.
func TestForeignRow(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	p := pool(t, testserver.Postgres(t), 1)
	rec := wins(t, s, params("k"))
	for _, change := range []string{"state = 'paid'", "owner = '\\x00112233445566778899aabbccddeeff00'", "fence = -1"} {
		execute(t, p, "UPDATE "+quoted(s.SchemaName())+".record SET "+change)
		_, err := s.Lookup(t.Context(), rec.Digest)
		wantWords(t, err, "look up", "another program changed the table")
	}
}
