package formguard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
)

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
