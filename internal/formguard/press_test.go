package formguard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/formguard"
)

func TestPressMakesTokensAsMintDoes(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := minter(t, c)
	press := m.Press("invoices", "alice")
	seen := map[string]bool{}
	for range 3 {
		c.at = c.at.Add(time.Minute)
		page := string(press.Append([]byte("<input value=")))
		text, ok := strings.CutPrefix(page, "<input value=")
		if !ok || len(text) != formguard.TokenLen || seen[text] {
			t.Fatalf("got %q, want a new token behind what was there", page)
		}
		seen[text] = true
		token, _, err := m.Verify(text, "invoices", time.Hour, "alice")
		if err != nil || !token.Issued.Equal(c.at) {
			t.Errorf("%s: issued %v, %v, want %v", text, token.Issued, err, c.at)
		}
	}
}

func TestPressNeedsNoMemoryForAToken(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the whole process
	press := minter(t, newClock()).Press("invoices", "alice")
	page := make([]byte, 0, formguard.TokenLen)
	if got := testing.AllocsPerRun(100, func() { page = press.Append(page[:0]) }); got != 0 {
		t.Errorf("got %v allocations for a token, want none", got)
	}
}
