package formguard_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/must"
)

// TestGuests: a token of a guest's page leads back to the guest, under every secret
// that is known, and no other token leads to a reader that it was made for (F8).
func TestGuests(t *testing.T) {
	t.Parallel()
	old, current := []byte("the old secret of the site"), []byte("the new secret of the site")
	with := func(secrets ...[]byte) *formguard.Minter {
		return must.Get(formguard.NewMinter(secrets, nil))
	}
	before, after := with(old), with(current, old)
	guest, other := before.NewGuest(), before.NewGuest()
	if guest == other || len(guest) != 22 {
		t.Fatalf("guests are called %q and %q", guest, other)
	}
	press := before.PressFor(guest, "orders", guest)
	if forged := guest[:12] + other[12:]; slices.Contains(before.GuestsOf(string(before.PressFor(forged, "orders", forged).Append(nil))), forged) {
		t.Errorf("%q is a guest", forged)
	}
	one, two := string(press.Append(nil)), string(press.Append(nil))
	if one == two {
		t.Error("two tokens of one page are the same")
	}
	for _, m := range []*formguard.Minter{before, after} {
		for _, token := range []string{one, two} {
			names := m.GuestsOf(token)
			if !slices.Contains(names, guest) {
				t.Errorf("%q leads to %q, want %q among them", token, names, guest)
			}
			if _, by, err := m.Verify(token, "orders", time.Hour, names...); err != nil || names[by] != guest {
				t.Errorf("%q: %d, %v", token, by, err)
			}
		}
	}
	for _, token := range []string{
		before.Mint("orders", guest), before.Mint("orders", ""), string(before.Press("orders", "session").Append(nil)), with(current).Mint("orders", "session"),
	} {
		if _, _, err := before.Verify(token, "orders", time.Hour, before.GuestsOf(token)...); !errors.Is(err, formguard.ErrForeign) {
			t.Errorf("a token of no guest's page: %v", err)
		}
	}
	if got := with(current).GuestsOf(one); slices.Contains(got, guest) {
		t.Errorf("without the secret: %q", got)
	}
	for _, text := range []string{"", "sm1.x", one[:53], one + "x"} {
		if got := before.GuestsOf(text); got != nil {
			t.Errorf("%q leads to %q", text, got)
		}
	}
}
