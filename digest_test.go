package semel_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// Promise 5: no two keys share an identity because their parts run together.
func TestDigestKeepsPartsApart(t *testing.T) {
	t.Parallel()
	seen := map[semel.Digest]semel.Key{}
	for _, key := range []semel.Key{
		{Scope: "a", Name: "b"},
		{Scope: "b", Name: "a"},
		{Scope: "ab", Name: "c"},
		{Scope: "a", Name: "bc"},
		{Scope: "abc"},
		{Name: "abc"},
		{Scope: "a", Name: "b "},
		{Scope: "a", Name: "B"},
		{Scope: "a", Name: "b\x00"},
		{Scope: "é", Name: "b"},
		{Scope: "e\u0301", Name: "b"},
		// One behind the other with the length of the name alone, these are the same bytes.
		{Scope: "s", Name: "X\x00\x00\x00\x00\x00\x00\x00\x01y"},
		{Scope: "s\x00\x00\x00\x00\x00\x00\x00\x0aX", Name: "y"},
	} {
		if other, taken := seen[key.Digest()]; taken {
			t.Errorf("%q and %q have one digest", key, other)
		}
		seen[key.Digest()] = key
	}
}

func TestParseDigest(t *testing.T) {
	t.Parallel()
	want := semel.Key{Scope: "s", Name: "k"}.Digest()
	for _, text := range []string{want.String(), strings.ToUpper(want.String())} {
		if got, err := semel.ParseDigest(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ab", want.String() + "00", want.String()[:63], want.String()[:63] + "g", " " + want.String()} {
		if got, err := semel.ParseDigest(text); !errors.Is(err, semel.ErrKeyInvalid) || got != (semel.Digest{}) {
			t.Errorf("%q: got %v, %v, want ErrKeyInvalid", text, got, err)
		}
	}
}

// With a secret, the digest is HMAC-SHA-256 over scope and name, each after
// its length.
func TestDigestWithSecret(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef")
	key := semel.Key{Scope: "tenant-7", Name: "k1"}
	mac := hmac.New(sha256.New, secret)
	for _, part := range []string{key.Scope, key.Name} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	var want semel.Digest
	mac.Sum(want[:0])
	store := memstore.New(nil)
	t.Cleanup(func() { store.Close() })
	guard, err := semel.New(store, &semel.Options{Secrets: [][]byte{secret}})
	mustSucceed(t, err)
	t.Cleanup(func() { guard.Close() })
	for range 3 { // keyed hashes are reused
		if got := guard.Digest(key); got != want || got == key.Digest() {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
