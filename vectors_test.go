package semel_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/semel-dev/semel"
)

// vectorsDir holds the cases that every implementation must agree on.
const vectorsDir = "testdata/vectors/"

func readVectors(tb testing.TB, name string, into any) {
	tb.Helper()
	file, err := os.Open(vectorsDir + name)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	dec := json.NewDecoder(file)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
}

type keyVectorFile struct {
	About string      `json:"about"`
	Scope string      `json:"scope"`
	Cases []keyVector `json:"cases"`
}

type keyVector struct {
	Case    string `json:"case"`
	Wire    string `json:"wire"`
	Strict  bool   `json:"strict"`
	Lenient bool   `json:"lenient"`
	Name    string `json:"name"`
	Digest  string `json:"digest"`
}

func keyVectors(tb testing.TB) keyVectorFile {
	tb.Helper()
	var file keyVectorFile
	readVectors(tb, "keys.json", &file)
	if len(file.Cases) < 50 {
		tb.Fatalf("keys.json has %d cases only", len(file.Cases))
	}
	return file
}

func TestKeyVectors(t *testing.T) {
	t.Parallel()
	file := keyVectors(t)
	for _, v := range file.Cases {
		t.Run(v.Case, func(t *testing.T) {
			t.Parallel()
			check := func(mode string, want bool, parse func(scope, wire string) (semel.Key, error)) {
				key, err := parse(file.Scope, v.Wire)
				if (err == nil) != want {
					t.Errorf("%s: %q gives %v, want accepted = %v", mode, v.Wire, err, want)
				}
				if err == nil && (key.Name != v.Name || key.Digest().String() != v.Digest) {
					t.Errorf("%s: %q is %q with digest %v, want %q with %s", mode, v.Wire, key.Name, key.Digest(), v.Name, v.Digest)
				}
			}
			check("strict", v.Strict, semel.ParseStrictKey)
			check("lenient", v.Lenient, semel.ParseKey)
		})
	}
}

type fingerprintVectorFile struct {
	About     string            `json:"about"`
	Parts     []partsVector     `json:"parts"`
	JSON      []json.RawMessage `json:"json"`      // read by package semelhttp
	Multipart []json.RawMessage `json:"multipart"` // read by package semelhttp
	Requests  []json.RawMessage `json:"requests"`  // read by package semelhttp
}

type partsVector struct {
	Parts       []string `json:"parts"`
	Fingerprint string   `json:"fingerprint"`
}

func TestFingerprintVectors(t *testing.T) {
	t.Parallel()
	var file fingerprintVectorFile
	readVectors(t, "fingerprints.json", &file)
	if len(file.Parts) < 5 {
		t.Fatalf("fingerprints.json has %d lists of parts only", len(file.Parts))
	}
	for _, v := range file.Parts {
		if got := semel.FingerprintOf(v.Parts...).String(); got != v.Fingerprint {
			t.Errorf("%q: got %s, want %s", v.Parts, got, v.Fingerprint)
		}
	}
}
