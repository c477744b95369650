package dbguard

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

const (
	storedTokenPrefix = "sot1." // semel one-time token
	signedTokenPrefix = "sst1." // semel signed token

	tokenRandomBytes = 24
	tokenMACBytes    = sha256.Size
	// A signed token is the key's id, random bytes, the expiry in seconds, and
	// the MAC.
	signedTokenBytes = 2 + tokenRandomBytes + 8 + tokenMACBytes

	minTokenSecret   = 32
	maxSigningKeys   = 16
	maxTokenLifetime = 10 * 365 * 24 * time.Hour
)

// What is wrong with a token. They say nothing about it. Match with errors.Is.
var (
	// ErrTokenMalformed: the text is not a token, or it is signed and no signer was
	// given. The database was not asked.
	ErrTokenMalformed = errors.New("dbguard: not a one-time token")
	// ErrTokenUnknown: the token was not made here for this scope. Whether it is
	// forged, another scope's or long gone cannot be told.
	ErrTokenUnknown = errors.New("dbguard: token was not issued for this scope")
	// ErrTokenExpired: the token was not consumed in time. Ask for a new one.
	ErrTokenExpired = errors.New("dbguard: the token has expired")
	// ErrConsumed: the token was consumed before, and what came of it is not
	// known here.
	ErrConsumed = errors.New("dbguard: the token was consumed before")
)

// tokenID identifies a token in a store.
type tokenID struct {
	// digest is SHA-256 of scope and token: it does not permit consuming it.
	digest [sha256.Size]byte
	// expires is when a signed token expires; zero for others, whose expiry is in
	// the store.
	expires time.Time
}

// NewToken makes a token: 37 characters, of which 192 bits are random. It is for
// stores of tokens; [Tokens.Mint] mints one.
func NewToken() string {
	raw := make([]byte, tokenRandomBytes)
	rand.Read(raw)
	return storedTokenPrefix + tokenEncoding().EncodeToString(raw)
}

// Parse reads a token of a scope without asking a store, and returns the digest
// under which a store keeps it. A signed token is verified and comes with its
// expiry, which is left to the store's clock; without a signer (nil) it is
// [ErrTokenMalformed]. Errors: ErrTokenMalformed, [ErrTokenUnknown].
func (s *TokenSigner) Parse(scope, token string) (digest [sha256.Size]byte, expires time.Time, err error) {
	id, err := s.parse(scope, token)
	return id.digest, id.expires, err
}

func (s *TokenSigner) parse(scope, token string) (tokenID, error) {
	if scope == "" {
		return tokenID{}, semel.ErrScopeMissing
	}
	if s != nil && strings.HasPrefix(token, signedTokenPrefix) {
		return s.verify(scope, token)
	}
	raw, ok := tokenPayload(storedTokenPrefix, token, tokenRandomBytes)
	if !ok {
		return tokenID{}, ErrTokenMalformed
	}
	return identify(storedTokenPrefix, scope, raw), nil
}

// SigningKey is a secret for tokens.
type SigningKey struct {
	// ID is in each token that the key signs, and names the key among those of
	// one signer.
	ID uint16
	// Secret is at least 32 bytes: head -c 32 /dev/urandom.
	Secret []byte
}

// TokenSigner makes tokens that nothing has to remember before they are
// consumed, and verifies them. [NewTokenSigner] is the only door; it is safe for
// concurrent use.
//
// It is right where many more tokens are given out than come back, such as one
// for each page. It is not right where a token must be withdrawn before it
// expires: no list of them exists.
type TokenSigner struct {
	purpose string
	keys    []SigningKey
}

// NewTokenSigner makes a signer for one purpose, such as "password reset": a
// token of another purpose is unknown to it, whatever its keys. The first key
// signs, all verify. To replace a key, add the new one as the second everywhere,
// then move it to the front, and drop the old one when its last token has
// expired. Keys are copied; there are at most 16.
func NewTokenSigner(purpose string, keys ...SigningKey) (*TokenSigner, error) {
	if purpose == "" || len(keys) == 0 || len(keys) > maxSigningKeys {
		return nil, fmt.Errorf("dbguard: new token signer: the purpose has %d bytes and %d keys are given, want a purpose and 1 to %d keys", len(purpose), len(keys), maxSigningKeys)
	}
	s := &TokenSigner{purpose: purpose}
	for _, key := range keys {
		if len(key.Secret) < minTokenSecret {
			return nil, fmt.Errorf("dbguard: new token signer: the secret of key %d has %d bytes, want at least %d", key.ID, len(key.Secret), minTokenSecret)
		}
		if _, twice := s.key(key.ID); twice {
			return nil, fmt.Errorf("dbguard: new token signer: key %d is given twice", key.ID)
		}
		s.keys = append(s.keys, SigningKey{ID: key.ID, Secret: bytes.Clone(key.Secret)})
	}
	return s, nil
}

// Mint makes a token for the scope: 93 characters. It expires after the
// lifetime, rounded up to a second, by this host's clock; whether it has expired
// when it is consumed says the store's, so what these two differ by adds to the
// lifetime or takes from it. Nothing is stored.
func (s *TokenSigner) Mint(scope string, lifetime time.Duration) (string, error) {
	if err := checkTokenTerms(scope, lifetime); err != nil {
		return "", err
	}
	raw := make([]byte, signedTokenBytes-tokenMACBytes, signedTokenBytes)
	binary.BigEndian.PutUint16(raw, s.keys[0].ID)
	rand.Read(raw[2 : 2+tokenRandomBytes])
	expires := time.Now().Add(lifetime + time.Second - 1).Unix()
	binary.BigEndian.PutUint64(raw[2+tokenRandomBytes:], uint64(expires)) //nolint:gosec // not negative.
	return signedTokenPrefix + tokenEncoding().EncodeToString(s.sign(s.keys[0], scope, raw)), nil
}

// verify reads a signed token.
func (s *TokenSigner) verify(scope, token string) (tokenID, error) {
	raw, ok := tokenPayload(signedTokenPrefix, token, signedTokenBytes)
	if !ok {
		return tokenID{}, ErrTokenMalformed
	}
	key, ok := s.key(binary.BigEndian.Uint16(raw))
	if !ok {
		return tokenID{}, ErrTokenUnknown
	}
	signed := raw[: signedTokenBytes-tokenMACBytes : signedTokenBytes-tokenMACBytes]
	if !hmac.Equal(raw, s.sign(key, scope, signed)) {
		return tokenID{}, ErrTokenUnknown
	}
	id := identify(signedTokenPrefix, scope, raw)
	id.expires = time.Unix(int64(binary.BigEndian.Uint64(raw[2+tokenRandomBytes:])), 0).UTC() //nolint:gosec // we have signed it.
	return id, nil
}

func (s *TokenSigner) key(id uint16) (SigningKey, bool) {
	for _, key := range s.keys {
		if key.ID == id {
			return key, true
		}
	}
	return SigningKey{}, false
}

// sign appends the MAC of purpose, scope and raw to raw.
func (s *TokenSigner) sign(key SigningKey, scope string, raw []byte) []byte {
	mac := hmac.New(sha256.New, key.Secret)
	mac.Write(tokenTerms(signedTokenPrefix, s.purpose, scope))
	mac.Write(raw)
	return mac.Sum(raw)
}

// tokenTerms writes texts so that the end of none can be moved.
func tokenTerms(texts ...string) (terms []byte) {
	for _, text := range texts {
		terms = binary.BigEndian.AppendUint64(terms, uint64(len(text)))
		terms = append(terms, text...)
	}
	return terms
}

func identify(prefix, scope string, raw []byte) tokenID {
	return tokenID{digest: sha256.Sum256(append(tokenTerms(prefix, scope), raw...))}
}

// tokenPayload accepts the one spelling of a token.
func tokenPayload(prefix, token string, size int) (raw []byte, ok bool) {
	if len(token) != len(prefix)+tokenEncoding().EncodedLen(size) || !strings.HasPrefix(token, prefix) {
		return nil, false
	}
	raw, err := tokenEncoding().DecodeString(token[len(prefix):])
	return raw, err == nil && len(raw) == size // the decoder skips line ends
}

func tokenEncoding() *base64.Encoding { return base64.RawURLEncoding.Strict() }

func checkTokenTerms(scope string, lifetime time.Duration) error {
	if scope == "" {
		return semel.ErrScopeMissing
	}
	if lifetime < time.Millisecond || lifetime > maxTokenLifetime {
		return fmt.Errorf("dbguard: mint a token: the lifetime is %v, want %v to %v", lifetime, time.Millisecond, maxTokenLifetime)
	}
	return nil
}
