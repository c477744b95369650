package adminapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/semel-dev/semel/operator"
)

const (
	// addressBits is the part of an IPv6 address that counts: its owner chooses the
	// rest.
	addressBits = 64
	// everyone is the key of the bound on all failures.
	everyone = "all"
)

// admit lets the operator in whose token the call carries.
func (a *API) admit(c *call) error {
	if len(*a.tokens.Load()) == 0 {
		return errOff
	}
	if site := c.Header.Get("Sec-Fetch-Site"); len(c.Header["Origin"]) > 0 || (site != "" && site != "none" && site != "same-origin") {
		return errCrossSite
	}
	address := remoteAddress(c.Request)
	token, err := a.authenticate(c.Request, address, c.Header["Authorization"])
	if err != nil {
		return err
	}
	c.by = token.Identity(c.Request, "admin API")
	if wait, ok := a.calls.Allow(token.Name); !ok {
		return refuse(http.StatusTooManyRequests, "too-many-calls", "Too many calls with this token", "Nothing was done. Wait, then call again.").after(wait)
	}
	if token.ReadOnly && !reads(c.Method) {
		return errReadOnly
	}
	return nil
}

// LogIn returns the token of a secret that was typed into a page of this server, under the same bounds on wrong ones as
// calls are. Its errors are for that person.
func (a *API) LogIn(r *http.Request, secret string) (Token, error) {
	token, err := a.authenticate(r, remoteAddress(r), []string{"Bearer " + secret})
	switch {
	case errors.Is(err, errTokenWrong):
		return Token{}, errLogInWrong
	case err != nil:
		return Token{}, err
	}
	return *token, nil
}

// Identity names the operator of a token, and the address of the request, for the audit trail.
func (t Token) Identity(r *http.Request, door string) operator.Identity {
	return operator.Identity{Name: t.Name, Via: door + " " + remoteAddress(r).text}
}

// authenticate returns the token in the header lines of a request. After too many wrong
// ones, from one address or from all together, it compares no more.
func (a *API) authenticate(r *http.Request, from address, lines []string) (*Token, error) {
	a.letIn.Lock()
	defer a.letIn.Unlock()
	if wait := max(a.failures.Wait(from.bounded), a.allFailures.Wait(everyone)); wait > 0 {
		return nil, refuse(http.StatusTooManyRequests, "too-many-failures", "Too many wrong tokens",
			"Nothing was done, and the token was not checked. Wait, then call again with the right one.").after(wait)
	}
	if len(lines) == 0 {
		return nil, errTokenMissing // this was not a guess
	}
	if token := a.known(lines); token != nil {
		return token, nil
	}
	if !slices.ContainsFunc(lines, isBearer) {
		return nil, errTokenWrong // a page can have a browser send Basic; that is not a guess
	}
	a.failures.Allow(from.bounded)
	a.allFailures.Allow(everyone)
	a.log.LogAttrs(r.Context(), slog.LevelWarn, "wrong token at the admin API", slog.String("remote", from.text))
	return nil, errTokenWrong
}

// known compares the header with every token, in a time that reveals nothing
// about any.
func (a *API) known(lines []string) *Token {
	_, secret, _ := strings.Cut(lines[0], " ")
	hash, found := sha256.Sum256([]byte(secret)), -1
	tokens := *a.tokens.Load()
	for i := range tokens {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], tokens[i].hash[:]), i, found)
	}
	if found < 0 || len(lines) != 1 || !isBearer(lines[0]) {
		return nil
	}
	return &tokens[found]
}

// isBearer reports whether an Authorization header carries a token.
func isBearer(line string) bool {
	scheme, _, _ := strings.Cut(line, " ")
	return strings.EqualFold(scheme, "Bearer")
}

// address is the origin of a call: for people, and as the key by which failures are
// counted.
type address struct{ text, bounded string }

// remoteAddress returns the address of the connection: no header is believed. Failed
// calls by a host name are counted apart, because a stranger's page can make its own
// name resolve to this address (DNS rebinding), and must not use up the guesses of
// the operator whose browser shows it.
func remoteAddress(r *http.Request) address {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return address{"an unknown address", ""}
	}
	ip := from.Addr().Unmap().WithZone("")
	bounded := ip.String()
	if ip.Is6() {
		bounded = netip.PrefixFrom(ip, addressBits).Masked().String()
	}
	if !byAddress(r.Host) {
		bounded += " by name"
	}
	return address{ip.String(), bounded}
}

// byAddress reports whether a Host header names an address, or this machine.
func byAddress(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}
