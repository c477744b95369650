package semel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
)

func TestKeyValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		key  semel.Key
		want error
	}{
		{"good", semel.Key{Scope: "s", Name: "k"}, nil},
		{"not ASCII", semel.Key{Scope: "Kundin 7 möchte", Name: "ключ"}, nil},
		{"longest", semel.Key{Scope: strings.Repeat("s", semel.MaxScopeBytes), Name: strings.Repeat("k", semel.MaxKeyBytes)}, nil},
		{"zero", semel.Key{}, semel.ErrScopeMissing},
		{"no scope", semel.Key{Name: "k"}, semel.ErrScopeMissing},
		{"no name", semel.Key{Scope: "s"}, semel.ErrKeyInvalid},
		{"long name", semel.Key{Scope: "s", Name: strings.Repeat("k", semel.MaxKeyBytes+1)}, semel.ErrKeyInvalid},
		{"long scope", semel.Key{Scope: strings.Repeat("s", semel.MaxScopeBytes+1), Name: "k"}, semel.ErrKeyInvalid},
		{"nul", semel.Key{Scope: "s", Name: "k\x00"}, semel.ErrKeyInvalid},
		{"line feed in the scope", semel.Key{Scope: "s\n", Name: "k"}, semel.ErrKeyInvalid},
		{"delete", semel.Key{Scope: "s", Name: "\x7f"}, semel.ErrKeyInvalid},
		{"not UTF-8", semel.Key{Scope: "s", Name: "k\xff"}, semel.ErrKeyInvalid},
		{"scope not UTF-8", semel.Key{Scope: "\xff", Name: "k"}, semel.ErrKeyInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := tt.key.Validate(); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// Promise 8: what comes over the wire is bounded before it is looked at.
func TestParseKeyBounds(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("k", semel.MaxKeyBytes)
	escaped := strings.Repeat(`\"`, semel.MaxKeyBytes)
	tests := []struct {
		name, wire, want string
	}{
		{"longest raw", full, full},
		{"longest quoted", `"` + full + `"`, full},
		{"longest escaped", `"` + escaped + `"`, strings.Repeat(`"`, semel.MaxKeyBytes)},
		{"too long raw", full + "k", ""},
		{"too long quoted", `"` + full + `k"`, ""},
		{"too long escaped", `"` + escaped + `\""`, ""},
		{"long parameters", `"k";` + strings.Repeat("p", 4*semel.MaxKeyBytes-4), "k"},
		{"too long parameters", `"k";` + strings.Repeat("p", 4*semel.MaxKeyBytes-3), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, err := semel.ParseKey("s", tt.wire)
			if tt.want == "" {
				if !errors.Is(err, semel.ErrKeyInvalid) {
					t.Errorf("got %d bytes, %v, want ErrKeyInvalid", len(key.Name), err)
				}
				return
			}
			if err != nil || key.Name != tt.want {
				t.Errorf("got %d bytes, %v, want %d bytes", len(key.Name), err, len(tt.want))
			}
		})
	}
}

func TestParseKeyChecksTheScope(t *testing.T) {
	t.Parallel()
	if _, err := semel.ParseKey("", "k"); !errors.Is(err, semel.ErrScopeMissing) {
		t.Errorf("no scope: got %v, want %v", err, semel.ErrScopeMissing)
	}
	if _, err := semel.ParseStrictKey("a\nb", `"k"`); !errors.Is(err, semel.ErrKeyInvalid) {
		t.Errorf("scope of two lines: got %v, want %v", err, semel.ErrKeyInvalid)
	}
}
