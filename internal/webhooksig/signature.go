// Package webhooksig makes and checks the signatures of Standard Webhooks: v1, an HMAC-SHA256, and v1a, an Ed25519 signature.
package webhooksig

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What secrets begin with, and signatures.
const (
	secretPrefix  = "whsec_"
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
	macVersion    = "v1,"
	keyVersion    = "v1a,"
)

// DecodeSecret reads the secret of an HMAC: whsec_ and base64, or base64 alone. Its error does not repeat the text.
func DecodeSecret(text string) ([]byte, error) {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), secretPrefix))
	if err != nil || len(secret) == 0 {
		return nil, errors.New("the webhook secret is not base64: copy it from the sender, such as " + secretPrefix + "MfKQ9r8G…")
	}
	return secret, nil
}

// Sign returns the signature of a delivery: v1, and the HMAC-SHA256 of id, time
// in seconds and body.
func Sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(head(id, at))
	mac.Write(body)
	return macVersion + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// head returns the signed text before the body.
func head(id string, at time.Time) []byte {
	return []byte(id + "." + strconv.FormatInt(at.Unix(), 10) + ".")
}

// Key signs deliveries, or verifies them, or both. It does not print.
type Key struct {
	mac     []byte
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

// ParseKey reads a key as Standard Webhooks writes it: whsec_, a secret that both
// sides share; whsk_, the key of a sender; whpk_, the public key that belongs to it.
// Its error does not repeat the text.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	private, isPrivate := strings.CutPrefix(text, privatePrefix)
	public, isPublic := strings.CutPrefix(text, publicPrefix)
	switch {
	case isPrivate:
		raw, err := base64.StdEncoding.DecodeString(private)
		switch {
		case err == nil && len(raw) == ed25519.SeedSize:
			return keyOf(ed25519.NewKeyFromSeed(raw)), nil
		case err == nil && len(raw) == ed25519.PrivateKeySize && string(ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])) == string(raw):
			return keyOf(raw), nil
		}
		return Key{}, fmt.Errorf("the text after %s is not an Ed25519 key: %d or %d bytes in base64", privatePrefix, ed25519.SeedSize, ed25519.PrivateKeySize)
	case isPublic:
		raw, err := base64.StdEncoding.DecodeString(public)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return Key{}, fmt.Errorf("the text after %s is not an Ed25519 public key: %d bytes in base64", publicPrefix, ed25519.PublicKeySize)
		}
		if isSmallOrder(raw) {
			return Key{}, fmt.Errorf("the Ed25519 key after %s is one of a few that let anyone sign: ask the sender for a new pair", publicPrefix)
		}
		return Key{public: raw}, nil
	}
	mac, err := DecodeSecret(text)
	if err != nil {
		return Key{}, err
	}
	if len(mac) < MinSecretBytes {
		return Key{}, TooShortError(len(mac))
	}
	return Key{mac: mac}, nil
}

// isSmallOrder reports whether the public key is a point of order 1, 2, 4 or 8. Its multiples are so few that one
// signature, made without any private key, fits every eighth body or more; crypto/ed25519 accepts it.
func isSmallOrder(public []byte) bool {
	y := slices.Clone(public)
	y[len(y)-1] &= 0x7f // without the sign of x
	slices.Reverse(y)
	switch hex.EncodeToString(y) {
	case "0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000001",
		"05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826",
		"7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7",
		"7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec", // p-1
		"7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed", // 0 as p
		"7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffee": // 1 as p+1
		return true
	}
	return false
}

// MinSecretBytes is the shortest secret of an HMAC.
const MinSecretBytes = 16

// TooShortError reports a secret of n bytes.
func TooShortError(n int) error {
	return fmt.Errorf("the webhook secret has %d bytes, at least %d are needed: have the sender make a longer one", n, MinSecretBytes)
}

func keyOf(private ed25519.PrivateKey) Key {
	public, _ := private.Public().(ed25519.PublicKey)
	return Key{private: private, public: public}
}

// String implements fmt.Stringer, without the key.
func (Key) String() string { return "webhooksig.Key(…)" }

// GoString implements fmt.GoStringer, without the key.
func (k Key) GoString() string { return k.String() }

// IsPrivate reports whether the key is the sender's half of a pair.
func (k Key) IsPrivate() bool { return k.private != nil }

// CanSign reports whether the key signs: a public key does not.
func (k Key) CanSign() bool { return k.mac != nil || k.private != nil }

// Sign returns the signature of a delivery. The key must be one that signs.
func (k Key) Sign(id string, at time.Time, body []byte) string {
	if k.private != nil {
		return keyVersion + base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, append(head(id, at), body...)))
	}
	return Sign(k.mac, id, at, body)
}

// Verifies reports whether one of the signatures is the key's.
func (k Key) Verifies(signatures []string, id string, at time.Time, body []byte) bool {
	found := false
	if k.mac != nil {
		want := []byte(Sign(k.mac, id, at, body))
		for _, signature := range signatures {
			found = hmac.Equal([]byte(signature), want) || found
		}
		return found
	}
	content := append(head(id, at), body...)
	for _, signature := range signatures {
		text, ours := strings.CutPrefix(signature, keyVersion)
		raw, err := base64.StdEncoding.DecodeString(text)
		found = ours && err == nil && ed25519.Verify(k.public, content, raw) || found
	}
	return found
}
