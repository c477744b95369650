package ids_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
)

// anyPart draws what is hard to keep apart: separators, escapes, nothing, any byte, and much of it.
func anyPart() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune(`a:%~\"3A,é `+"\x00\n")), 0, 6, -1),
		rapid.StringMatching(`[a-zA-Z0-9@._-]{0,40}`),
		rapid.Map(rapid.IntRange(200, 300), func(n int) string { return strings.Repeat("x", n) }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 120), func(b []byte) string { return string(b) }),
	)
}

// Different parts give different keys; every key is valid, even raw in a header; and short ones can be split
// again.
func TestComposedKeys(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	hashed := 0
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(anyPart(), 1, 5).Draw(t, "parts")
		key := ids.Compose(parts[0], parts[1:]...)
		if before, met := seen[key]; met && !slices.Equal(before, parts) {
			t.Fatalf("%q and %q give the same key %s", before, parts, key)
		}
		seen[key] = parts
		if parsed, err := semel.ParseKey("scope", key); err != nil || parsed.Name != key {
			t.Fatalf("%q gives %q, which is read as %q: %v", parts, key, parsed.Name, err)
		}
		back, err := ids.Split(key)
		if strings.HasPrefix(key, "~~") {
			if hashed++; len(strings.Join(parts, ":")) < semel.MaxKeyBytes/3 {
				t.Fatalf("%q was hashed although it is short", parts)
			}
		} else if err != nil || !slices.Equal(back, parts) {
			t.Fatalf("%q became %q: %v", parts, back, err)
		}
	})
	if hashed == 0 || hashed == len(seen) {
		t.Errorf("%d of %d keys were hashed: the test tries one form only", hashed, len(seen))
	}
}

func TestComposedForms(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 255)
	for _, test := range []struct {
		parts []string
		want  string
	}{
		{[]string{"a", "b:c"}, "a:b%3Ac"},
		{[]string{"a:b", "c"}, "a%3Ab:c"},
		{[]string{""}, "~"},
		{[]string{"", ""}, "~:~"},
		{[]string{"~"}, "%7E"},
		{[]string{"~~"}, "%7E%7E"},
		{[]string{"100%"}, "100%25"},
		{[]string{"Å", "\x00"}, "%C3%85:%00"},
		{[]string{long}, long},
		{[]string{long[1:], ""}, "~~" + ids.Derive(nil, long[1:], "")},
		{[]string{long + "x"}, "~~" + ids.Derive(nil, long+"x")},
	} {
		if got := ids.Compose(test.parts[0], test.parts[1:]...); got != test.want {
			t.Errorf("%q gives %s, want %s", test.parts, got, test.want)
		}
	}
	digits := ids.Derive(nil, "x")
	for _, wrong := range []string{
		"", ":", "a:", ":a", "a::b", "~a", "a~", "~~", "~~" + digits[1:], "~~" + strings.ToUpper(digits), "~~" + digits + "0",
		"%", "%4", "%4G", "%41", "%3a", "%zz", "a b", "a,b", "é", "\x00", long + "x",
	} {
		if parts, err := ids.Split(wrong); !errors.Is(err, ids.ErrMalformed) {
			t.Errorf("%q is split into %q, %v; want ErrMalformed", wrong, parts, err)
		}
	}
}

// A key is written in one way only: what Split takes, Compose writes.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"a:b%3Ac", "~:~", "%7E", "~~" + ids.Derive(nil, "x"), "a::b", "%41"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		parts, err := ids.Split(key)
		switch {
		case errors.Is(err, ids.ErrMalformed):
		case err != nil:
			t.Errorf("%q: %v", key, err)
		default:
			if again := ids.Compose(parts[0], parts[1:]...); again != key {
				t.Errorf("%q is split into %q, which are composed to %q", key, parts, again)
			}
		}
	})
}

// Each of these is SHA-256, or HMAC, of the parts after their lengths, as other languages compute it too.
func TestDerive(t *testing.T) {
	t.Parallel()
	if got, want := ids.Derive(nil, "ab", "c"), semel.FingerprintOf("ab", "c").String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	secret := []byte("0123456789abcdef")
	keys := []string{
		ids.Derive(nil, "ab", "c"), ids.Derive(nil, "a", "bc"), ids.Derive(nil, "abc"), ids.Derive(nil, "ab", "c", ""),
		ids.Derive(secret, "ab", "c"), ids.Derive(secret[1:], "ab", "c"),
	}
	slices.Sort(keys)
	if got := len(slices.Compact(keys)); got != len(keys) {
		t.Errorf("got %d different keys, want %d", got, len(keys))
	}
}

func readBusiness(s string) (k ids.BusinessKey, err error) {
	err = k.UnmarshalText([]byte(s))
	return k, err
}

func TestBusinessKeys(t *testing.T) {
	t.Parallel()
	want := ids.BusinessKey{Kind: "INV", Tenant: "acme", Year: 2026, Number: 42}
	if got := want.String(); got != "INV-acme-2026-000042" {
		t.Errorf("got %s", got)
	}
	got, err := readBusiness(want.String())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, wrong := range []string{
		"", "INV", "INV-acme-2026", "inv-acme-2026-000042", "INV-Acme-2026-000042", "INV-acme-26-000042", "INV-acme-2026-42",
		"INV-acme-2026-0000042", "INV-acme-2026-000000", "INV-acme-2026-+00042", "INV-acme-2026--00042", "INV-acme-02026-000042",
		"INV-ac-me-2026-000042", "-acme-2026-000042", "INV--2026-000042", "INV-acme-2026-1000000000000", "INV-acmé-2026-000042",
		"INV-acme-2026-000042\x00", " INV-acme-2026-000042", "INV-acme-٢٠٢٦-000042",
		strings.Repeat("A", 17) + "-acme-2026-000042", "INV-" + strings.Repeat("a", 65) + "-2026-000042",
	} {
		if k, err := readBusiness(wrong); !errors.Is(err, ids.ErrMalformed) || k != (ids.BusinessKey{}) {
			t.Errorf("%q is read as %+v, %v; want ErrMalformed", wrong, k, err)
		}
	}
	want.Tenant = "a-b"
	if s, err := want.MarshalText(); !errors.Is(err, ids.ErrMalformed) {
		t.Errorf("got %q, %v; want ErrMalformed", s, err)
	}
}

// Both ways, in order, and the longest is a valid key.
func TestBusinessKeysRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := ids.BusinessKey{
			Kind:   rapid.StringMatching(`[A-Z0-9]{1,16}`).Draw(t, "kind"),
			Tenant: rapid.StringMatching(`[a-z0-9_.]{1,64}`).Draw(t, "tenant"),
			Year:   rapid.IntRange(1000, 9999).Draw(t, "year"),
			Number: rapid.Int64Range(1, 999_999_999_999).Draw(t, "number"),
		}
		text, err := k.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := readBusiness(string(text)); err != nil || back != k {
			t.Fatalf("%+v became %+v, %v", k, back, err)
		}
		if _, err := semel.ParseKey("scope", string(text)); err != nil {
			t.Fatalf("%s is not a key: %v", text, err)
		}
	})
}

// What parses is written as it was, but for the case of UUIDs and ULIDs.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "9223372036854775807", "INV-acme-2026-000042", "80000000000000000000000000",
	} {
		f.Add(seed)
		f.Add(seed[1:])
	}
	f.Fuzz(func(t *testing.T, s string) {
		check := func(kind, back string, err error, fold bool) {
			switch {
			case err != nil && !errors.Is(err, ids.ErrMalformed):
				t.Errorf("%s %q: %v", kind, s, err)
			case err == nil && back != s && (!fold || !strings.EqualFold(back, s)):
				t.Errorf("%s %q is written %q", kind, s, back)
			}
		}
		uuid, err := ids.ParseUUID(s)
		check("UUID", uuid.String(), err, true)
		ulid, err := ids.ParseULID(s)
		check("ULID", ulid.String(), err, true)
		snowflake, err := ids.ParseSnowflake(s)
		check("Snowflake", snowflake.String(), err, false)
		business, err := readBusiness(s)
		check("business key", business.String(), err, false)
	})
}
