package formguard_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/must"
)

const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// clock is set by a test.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func secret(text string) []byte { return []byte(strings.Repeat(text, 16)) }

func minter(tb testing.TB, c *clock, secrets ...[]byte) *formguard.Minter {
	tb.Helper()
	if len(secrets) == 0 {
		secrets = [][]byte{secret("a")}
	}
	return must.Get(formguard.NewMinter(secrets, &formguard.MinterOptions{Now: c.now}))
}

func newClock() *clock { return &clock{at: time.Unix(1_800_000_000, 0)} }

func TestTokenVerifiesForItsRouteAndReader(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := minter(t, c)
	text := m.Mint("invoices", "alice")
	if len(text) != formguard.TokenLen || !formguard.LooksLike(text) {
		t.Fatalf("got %q of %d bytes", text, len(text))
	}
	token, by, err := m.Verify(text, "invoices", time.Hour, "bob", "alice", "carol")
	if err != nil || by != 1 {
		t.Fatalf("got reader %d, %v, want 1", by, err)
	}
	if !token.Issued.Equal(c.at) {
		t.Errorf("issued %v, want %v", token.Issued, c.at)
	}
	raw, err := base64.RawURLEncoding.DecodeString(token.Name())
	if err != nil || string(raw) != string(token.ID[:]) {
		t.Errorf("the name %q decodes to %x, %v, want %x", token.Name(), raw, err, token.ID)
	}
	if again := m.Mint("invoices", "alice"); again == text {
		t.Error("two drafts have one token")
	}
}

func TestTokenOfSomethingElseIsForeign(t *testing.T) {
	t.Parallel()
	m := minter(t, newClock())
	text := m.Mint("invoices", "alice")
	other := minter(t, newClock(), secret("b"))
	for name, verify := range map[string]func() (formguard.Token, int, error){
		"other reader": func() (formguard.Token, int, error) { return m.Verify(text, "invoices", time.Hour, "bob") },
		"no reader":    func() (formguard.Token, int, error) { return m.Verify(text, "invoices", time.Hour) },
		"empty reader": func() (formguard.Token, int, error) { return m.Verify(text, "invoices", time.Hour, "") },
		"other route":  func() (formguard.Token, int, error) { return m.Verify(text, "orders", time.Hour, "alice") },
		"moved border": func() (formguard.Token, int, error) { return m.Verify(text, "invoicesa", time.Hour, "lice") },
		"other secret": func() (formguard.Token, int, error) { return other.Verify(text, "invoices", time.Hour, "alice") },
		"expired and foreign": func() (formguard.Token, int, error) {
			return m.Verify(text, "invoices", -1, "bob")
		},
	} {
		token, by, err := verify()
		if !errors.Is(err, formguard.ErrForeign) || by != -1 || token != (formguard.Token{}) {
			t.Errorf("%s: got %v, %d, %v, want ErrForeign alone", name, token, by, err)
		}
	}
}

// One spelling of a token verifies, and no other text of its length.
func TestTokenHasOneSpelling(t *testing.T) {
	t.Parallel()
	m := minter(t, newClock())
	text := m.Mint("r", "w")
	for i := range text {
		for _, c := range tokenAlphabet + ".=+/ \n\r" {
			other := text[:i] + string(c) + text[i+1:]
			_, _, err := m.Verify(other, "r", time.Hour, "w")
			if (err == nil) != (other == text) {
				t.Fatalf("%q: got %v, with %q", other, err, text)
			}
			if err != nil && !errors.Is(err, formguard.ErrForeign) && !errors.Is(err, formguard.ErrMalformed) {
				t.Fatalf("%q: got %v", other, err)
			}
		}
	}
	for _, other := range []string{
		"", "sm1.", text[:53], text + "A", text + "=", " " + text, text + "\n", text + "\r\n", text[4:],
		"SM1." + text[4:], "sm2." + text[4:], text[:30] + "\n" + text[30:53], text[:20] + "\r\n" + text[20:],
		strings.Repeat(text, 1000), "sm1." + strings.Repeat("A", 46) + "\n\n\n\n",
	} {
		if _, _, err := m.Verify(other, "r", time.Hour, "w"); !errors.Is(err, formguard.ErrMalformed) {
			t.Errorf("%.60q: got %v, want ErrMalformed", other, err)
		}
	}
}

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := minter(t, c)
	text := m.Mint("r", "w")
	born := c.at
	for _, x := range []struct {
		age, lifetime time.Duration
		want          error
	}{
		{0, time.Hour, nil},
		{time.Hour, time.Hour, nil},
		{time.Hour + time.Nanosecond, time.Hour, formguard.ErrExpired},
		{-24 * time.Hour, time.Hour, nil}, // minted by a gateway whose clock is ahead
		{0, 0, formguard.ErrExpired},
		{-time.Hour, -1, formguard.ErrExpired},
	} {
		c.at = born.Add(x.age)
		token, by, err := m.Verify(text, "r", x.lifetime, "w")
		if !errors.Is(err, x.want) || by != 0 || !token.Issued.Equal(born) {
			t.Errorf("aged %v of %v: got %v, %d, %v, want %v", x.age, x.lifetime, token.Issued, by, err, x.want)
		}
	}
}

func TestTokensOutliveTheirSecret(t *testing.T) {
	t.Parallel()
	c := newClock()
	before := minter(t, c, secret("a"))
	ahead := minter(t, c, secret("a"), secret("b"))
	after := minter(t, c, secret("b"), secret("a"))
	dropped := minter(t, c, secret("b"))
	verifies := func(m *formguard.Minter, text string) bool {
		_, _, err := m.Verify(text, "r", time.Hour, "w")
		return err == nil
	}
	first, second := before.Mint("r", "w"), after.Mint("r", "w")
	for name, x := range map[string]struct{ got, want bool }{
		"an older token, both secrets": {verifies(after, first), true},
		"an older token, new secret":   {verifies(dropped, first), false},
		"a new token, new secret":      {verifies(dropped, second), true},
		"a new token, ahead of time":   {verifies(ahead, second), true},
		"a token of the one ahead":     {verifies(before, ahead.Mint("r", "w")), true},
	} {
		if x.got != x.want {
			t.Errorf("%s: verifies = %v, want %v", name, x.got, x.want)
		}
	}
}

func TestMinterRefusesBadSecrets(t *testing.T) {
	t.Parallel()
	many := make([][]byte, 17)
	for i := range many {
		many[i] = secret(string(rune('a' + i)))
	}
	for name, x := range map[string]struct {
		secrets [][]byte
		want    string
	}{
		"none":  {nil, "no secret"},
		"short": {[][]byte{secret("a"), secret("b")[:15]}, "15 bytes"},
		"twice": {[][]byte{secret("a"), secret("a")}, "twice"},
		"many":  {many, "at most 16"},
	} {
		if _, err := formguard.NewMinter(x.secrets, nil); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: got %v, want something about %q", name, err, x.want)
		}
	}
	own := secret("a")
	m := must.Get(formguard.NewMinter([][]byte{own}, nil))
	text := m.Mint("r", "w")
	own[0] = 'x'
	if _, _, err := m.Verify(text, "r", time.Hour, "w"); err != nil {
		t.Errorf("the caller's slice is used: %v", err)
	}
}
