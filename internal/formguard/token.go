package formguard

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
	"time"
)

const (
	// Prefix begins every token.
	Prefix = "sm1."
	// TokenLen is the length of every token in bytes.
	TokenLen = 54

	idBytes     = 16
	issuedBytes = 5
	macBytes    = 16
	plainBytes  = idBytes + issuedBytes + macBytes

	maxIssued = 1<<(8*issuedBytes) - 1

	minSecretBytes = 16
	maxSecrets     = 16
)

// Why a text is not a token that counts. They say nothing about the text, which a stranger may have sent.
var (
	// ErrMalformed: the text is not a token.
	ErrMalformed = errors.New("formguard: not a form token")
	// ErrForeign: the token was not made here for this route and for any of these readers. Whether it is forged, another reader's
	// or another route's cannot be told.
	ErrForeign = errors.New("formguard: a form token of another reader or of another form")
	// ErrExpired: the token was made here for this route and reader, too long ago.
	ErrExpired = errors.New("formguard: the form token has expired")
)

// canonical is the alphabet of tokens and names.
func canonical() *base64.Encoding { return base64.RawURLEncoding.Strict() }

// Token is a verified token.
type Token struct {
	// ID is random. It names the draft and is not a secret: it opens nothing without the rest of the token.
	ID [idBytes]byte
	// Issued is when the token was made, by the clock of the gateway that made it, in whole seconds.
	Issued time.Time
}

// Name returns the ID as 22 characters of base64url.
func (t Token) Name() string { return canonical().EncodeToString(t.ID[:]) }

// LooksLike reports whether the text claims to be a token. It says nothing about whether it is one.
func LooksLike(text string) bool { return strings.HasPrefix(text, Prefix) }

// MinterOptions adjust a [Minter]. Nil is complete.
type MinterOptions struct {
	// Now tells the time. Default: the host's clock, which goes on by the monotonic one where it is set back.
	Now func() time.Time
}

// Minter makes and verifies tokens. Its methods may be called concurrently. Create one with [NewMinter].
type Minter struct {
	secrets [][]byte
	now     func() time.Time
}

// NewMinter returns a minter that makes tokens with the first secret and
// verifies those of all of them. To replace a secret, add the new one as the
// second in every gateway, so that each knows it; then move it to the front; drop
// the old one when the lifetime of tokens has passed.
//
// It needs at least one secret and takes at most 16, each of at least 16 bytes,
// none twice. They are copied.
func NewMinter(secrets [][]byte, o *MinterOptions) (*Minter, error) {
	switch {
	case len(secrets) == 0:
		return nil, errors.New("formguard: new minter: no secret is given (make one with: head -c 32 /dev/urandom | base64)")
	case len(secrets) > maxSecrets:
		return nil, fmt.Errorf("formguard: new minter: %d secrets are given, at most %d are used (drop those whose tokens have expired)", len(secrets), maxSecrets)
	}
	m := &Minter{now: newClock().now}
	if o != nil && o.Now != nil {
		m.now = o.Now
	}
	for _, secret := range secrets {
		if len(secret) < minSecretBytes {
			return nil, fmt.Errorf("formguard: new minter: secret has %d bytes, at least %d are needed", len(secret), minSecretBytes)
		}
		for _, before := range m.secrets {
			if bytes.Equal(before, secret) {
				return nil, errors.New("formguard: new minter: a secret is given twice")
			}
		}
		m.secrets = append(m.secrets, bytes.Clone(secret))
	}
	return m, nil
}

// Mint returns a new token for the route and the reader. Both may be any text, including an empty one. who must say what kind of
// identity it is, so that a cookie's value does not pass for a header's.
func (m *Minter) Mint(route, who string) string {
	return string(m.Press(route, who).Append(make([]byte, 0, TokenLen)))
}

// Verify reads a token and returns it together with the index of the first of
// the readers for whom it was made. It returns [ErrMalformed] and [ErrForeign]
// with neither (-1), and [ErrExpired] with both, for a token that was made more
// than lifetime ago, or at any time if lifetime is not positive.
//
// A token from the future counts as new: gateways' clocks differ, and only a
// gateway can have made it.
func (m *Minter) Verify(text, route string, lifetime time.Duration, who ...string) (Token, int, error) {
	plain, ok := decode(text)
	if !ok {
		return Token{}, -1, ErrMalformed
	}
	by := m.madeFor(&plain, route, who)
	if by < 0 {
		return Token{}, -1, ErrForeign
	}
	token := tokenOf(&plain)
	if lifetime <= 0 || m.now().Sub(token.Issued) > lifetime {
		return token, by, ErrExpired
	}
	return token, by, nil
}

// madeFor returns whose token it is, or -1.
func (m *Minter) madeFor(plain *[plainBytes]byte, route string, who []string) int {
	got := plain[idBytes+issuedBytes:]
	for i, reader := range who {
		covered := coveredBy(plain, route, reader)
		for _, secret := range m.secrets {
			mac := hmac.New(sha256.New, secret)
			mac.Write(covered)
			if hmac.Equal(got, mac.Sum(nil)[:macBytes]) {
				return i
			}
		}
	}
	return -1
}

// NameOf returns the name of a token's id without verifying the token: nothing follows from it but whom an answer is about. It is
// false for what has not the form of a token.
func NameOf(text string) (string, bool) {
	plain, ok := decode(text)
	return tokenOf(&plain).Name(), ok
}

// decode accepts the one spelling of a token.
func decode(text string) (plain [plainBytes]byte, ok bool) {
	if len(text) != TokenLen || !LooksLike(text) {
		return plain, false
	}
	raw, err := canonical().DecodeString(text[len(Prefix):])
	if err != nil || len(raw) != plainBytes { // the decoder skips line ends
		return plain, false
	}
	return [plainBytes]byte(raw), true
}

func tokenOf(plain *[plainBytes]byte) Token {
	var wide [8]byte
	copy(wide[8-issuedBytes:], plain[idBytes:])
	return Token{
		ID:     [idBytes]byte(plain[:idBytes]),
		Issued: time.Unix(int64(binary.BigEndian.Uint64(wide[:])), 0).UTC(), //nolint:gosec // 5 bytes.
	}
}

// coveredBy returns the text that the MAC of a token covers: the id and the time, but
// not the bytes after them, the route and the reader.
func coveredBy(plain *[plainBytes]byte, route, who string) []byte {
	covered := append([]byte(Prefix), plain[:idBytes+issuedBytes]...)
	return appendSized(appendSized(covered, route), who)
}

// writeSized hashes a text so that its end cannot be moved.
func writeSized(h hash.Hash, text string) { h.Write(appendSized(nil, text)) }

// appendSized appends a text with its length before it.
func appendSized(to []byte, text string) []byte {
	to = binary.BigEndian.AppendUint64(to, uint64(len(text)))
	return append(to, text...)
}

const (
	seedBytes  = 8
	guestBytes = 16
	// guestPrefix begins what the MAC of a guest's name covers. No token's does.
	guestPrefix = "sm1 guest"
)

// A guest is a reader of whom nothing is known when a page is made for it: a new
// visitor. It is given a name, usually in a cookie. The tokens of its page lead back
// to that name, so that a browser that takes no cookies, and comes back with nothing
// but a token, is the same reader as one that kept the cookie.

// NewGuest returns the name of a new guest: 22 characters of base64url, random, that
// cannot be made without the secret.
func (m *Minter) NewGuest() string {
	var seed [seedBytes]byte
	_, _ = rand.Read(seed[:]) // it does not return errors
	return guestName(m.secrets[0], seed[:])
}

// PressFor is [Minter.Press] for a page that is made for the guest of that name: the
// ids of its tokens begin with what leads back to it. Give who as it will be verified
// later, with the name in it. Tokens for any other name are as those of Press.
func (m *Minter) PressFor(guest, route, who string) *Press {
	p := m.Press(route, who)
	if plain, err := canonical().DecodeString(guest); err == nil && len(plain) == guestBytes && guestName(m.secrets[0], plain[:seedBytes]) == guest {
		p.seed = plain[:seedBytes]
	}
	return p
}

// GuestsOf returns the names of the guests for whom a token may have been made, one
// for each secret, none if the text is not a token. Nothing follows from a name until the
// token verifies for the reader that is called so.
func (m *Minter) GuestsOf(text string) []string {
	plain, ok := decode(text)
	if !ok {
		return nil
	}
	names := make([]string, len(m.secrets))
	for i, secret := range m.secrets {
		names[i] = guestName(secret, plain[:seedBytes])
	}
	return names
}

// guestName is the seed, and what only the secret makes of it.
func guestName(secret, seed []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(guestPrefix))
	mac.Write(seed)
	name := append([]byte{}, seed...)
	return canonical().EncodeToString(append(name, mac.Sum(nil)[:guestBytes-seedBytes]...))
}

// Press makes many tokens for one route and one visitor, as for the forms of one
// page: a token costs one HMAC and no memory. It is made by [Minter.Press] and is
// for one goroutine.
type Press struct {
	now     func() time.Time
	mac     hash.Hash // with the key
	covered []byte    // by the MAC: see coveredBy
	seed    []byte    // what the ids begin with; nil for nothing
	sum     []byte
	plain   [plainBytes]byte
}

// Press returns a press for the route and the reader: see [Minter.Mint].
func (m *Minter) Press(route, who string) *Press {
	p := &Press{now: m.now, mac: hmac.New(sha256.New, m.secrets[0]), sum: make([]byte, 0, sha256.Size)}
	p.covered = coveredBy(&p.plain, route, who)
	return p
}

// Append appends a new token.
func (p *Press) Append(to []byte) []byte {
	_, _ = rand.Read(p.plain[:idBytes]) // it does not return errors
	copy(p.plain[:], p.seed)
	issued := uint64(min(max(p.now().Unix(), 0), maxIssued))
	var wide [8]byte
	binary.BigEndian.PutUint64(wide[:], issued)
	copy(p.plain[idBytes:], wide[8-issuedBytes:])
	copy(p.covered[len(Prefix):], p.plain[:idBytes+issuedBytes])
	p.mac.Reset()
	p.mac.Write(p.covered)
	p.sum = p.mac.Sum(p.sum[:0])
	copy(p.plain[idBytes+issuedBytes:], p.sum)
	to = append(to, Prefix...)
	return base64.RawURLEncoding.AppendEncode(to, p.plain[:])
}

// clock shows the host's time, and goes on evenly where that is set back: else a
// token would live longer than the record of what was done with it.
type clock struct {
	wall func() time.Time
	ran  func() time.Duration // by the monotonic clock, since some time

	mu   sync.Mutex // guards the fields below
	at   time.Time  // the wall's time when it was last ahead
	then time.Duration
}

func newClock() *clock {
	start := time.Now()
	return &clock{wall: time.Now, ran: func() time.Duration { return time.Since(start) }}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, ran := c.wall().Round(0), c.ran()
	steady := c.at.Add(ran - c.then)
	if !wall.After(steady) {
		return steady
	}
	c.at, c.then = wall, ran
	return wall
}
