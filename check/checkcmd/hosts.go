package checkcmd

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/internal/cli"
)

// unknownHost represents a host that only an answer will reveal.
const unknownHost = "a host that is not yet known"

// hosts returns every host that a run contacts, once: first that of the request, then those of its variants, of
// preparatory requests, and of look-ups.
func (f *checkFlags) hosts(c *check.Config) []string {
	addresses := []string{c.Template.URL}
	for _, variant := range []*check.Template{c.Failing, c.Invalid, c.OtherBody} {
		if variant != nil {
			addresses = append(addresses, variant.URL)
		}
	}
	if c.Page != nil {
		addresses = append(addresses, c.Page.URL)
	}
	if c.Mint != nil {
		addresses = append(addresses, c.Mint.Template.URL)
	}
	if c.Login != nil {
		addresses = append(addresses, c.Login.Template.URL)
		if c.Login.Page != nil {
			addresses = append(addresses, c.Login.Page.URL)
		}
	}
	addresses = append(addresses, f.effects.addresses(c)...)
	users := slices.DeleteFunc([]*check.User{c.User, c.Other}, func(u *check.User) bool { return u == nil })
	if len(users) == 0 {
		users = append(users, &check.User{})
	}
	var hosts []string
	for _, at := range addresses {
		for _, user := range users {
			if host := hostOf(at, user.Values); !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}

func hostOf(at string, known check.Values) string {
	values := check.Values{"n": "1", "uuid": "x", "key": "x", "now": "x", "minted": "x"}
	maps.Copy(values, known)
	full := values.Fill(at)
	if end := strings.IndexAny(full, "/?#"); end >= 0 && strings.HasPrefix(full[end:], "//") { // no more than scheme and host
		if path := strings.IndexAny(full[end+2:], "/?#"); path >= 0 {
			full = full[:end+2+path]
		}
	}
	to, err := url.Parse(full)
	if err != nil || to.Host == "" || len(place.Names(full)) > 0 {
		return unknownHost
	}
	return cli.PlainLine(to.Host)
}

// isThisMachine reports whether a host is certainly this machine (RFC 6761 §6.3
// for names).
func isThisMachine(host string) bool {
	if host == unknownHost {
		return false
	}
	host = strings.ToLower((&url.URL{Host: host}).Hostname())
	host = strings.TrimSuffix(host, ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
