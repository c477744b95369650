// Package sfv_test compares the key header with a full parser of structured fields, which the library itself does not import.
package sfv_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"

	"github.com/semel-dev/semel"
)

// oracle says what a structured-field parser reads, within our bounds.
func oracle(wire string) (name string, ok bool) {
	wire = strings.Trim(wire, " \t") // as HTTP does with every field value
	item, err := httpsfv.UnmarshalItem([]string{wire})
	if err != nil {
		return "", false
	}
	name, ok = item.Value.(string)
	return name, ok && 1 <= len(name) && len(name) <= semel.MaxKeyBytes && len(wire) <= 4*semel.MaxKeyBytes
}

// FuzzParseKey: the strict reading accepts exactly the Strings of structured
// fields; the lenient one accepts these too, with the same name, and beyond
// them only values that are their own name.
func FuzzParseKey(f *testing.F) {
	var vectors struct{ Cases []struct{ Wire string } }
	data, err := os.ReadFile("../../../testdata/vectors/keys.json")
	if err == nil {
		err = json.Unmarshal(data, &vectors)
	}
	if err != nil || len(vectors.Cases) == 0 {
		f.Fatalf("%d vectors: %v", len(vectors.Cases), err)
	}
	for _, v := range vectors.Cases {
		f.Add(v.Wire)
	}
	f.Fuzz(func(t *testing.T, wire string) {
		strict, strictErr := semel.ParseStrictKey("s", wire)
		lenient, lenientErr := semel.ParseKey("s", wire)
		for _, err := range []error{strictErr, lenientErr} {
			if err != nil && !errors.Is(err, semel.ErrKeyInvalid) {
				t.Fatalf("%q: %v does not wrap ErrKeyInvalid", wire, err)
			}
			if err != nil && len(wire) > 20 && strings.Contains(err.Error(), wire) {
				t.Fatalf("%q: the error repeats the value: %v", wire, err)
			}
		}
		want, ok := oracle(wire)
		if ok != (strictErr == nil) || (ok && strict.Name != want) {
			t.Fatalf("%q: strict reads %q, %v; a structured-field parser reads %q, %v", wire, strict.Name, strictErr, want, ok)
		}
		switch raw := strings.Trim(wire, " \t"); {
		case ok:
			if lenientErr != nil || lenient != strict {
				t.Fatalf("%q: lenient reads %q, %v; strict reads %q", wire, lenient.Name, lenientErr, strict.Name)
			}
		case lenientErr == nil:
			if lenient.Name != raw || strings.ContainsAny(raw, "\",") {
				t.Fatalf("%q: lenient reads %q", wire, lenient.Name)
			}
		}
		if lenientErr == nil {
			sameQuoted(t, lenient)
		}
	})
}

// sameQuoted checks that a name that was read is read again from its quoted form.
func sameQuoted(t *testing.T, key semel.Key) {
	t.Helper()
	quoted, err := httpsfv.Marshal(httpsfv.NewItem(key.Name))
	if err != nil {
		t.Fatalf("%q was read, but is not a String: %v", key.Name, err)
	}
	again, err := semel.ParseStrictKey(key.Scope, quoted)
	if err != nil || again != key {
		t.Fatalf("%q, quoted: %q, %v", key.Name, again.Name, err)
	}
	if again.Digest() != key.Digest() {
		t.Fatalf("%q: the quoted form has another digest", key.Name)
	}
}
