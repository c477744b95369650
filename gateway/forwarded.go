package gateway

import (
	"cmp"
	"net"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
)

// forwarding tells the upstream who really asked. Headers that say so are
// believed from trusted proxies only.
type forwarding struct {
	trusted []netip.Prefix
}

// trusts reports whether the peer is a proxy whose word counts.
func (f *forwarding) trusts(remoteAddr string) bool {
	peer, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return false
	}
	addr := peer.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(f.trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// apply sets the forwarding headers of the outgoing request.
func (f *forwarding) apply(pr *httputil.ProxyRequest) {
	trusted := len(f.trusted) > 0 && f.trusts(pr.In.RemoteAddr)
	out, in := pr.Out.Header, pr.In.Header
	for name := range out {
		if claimsOrigin(name, trusted) {
			delete(out, name)
		}
	}
	peer, _, err := net.SplitHostPort(pr.In.RemoteAddr)
	if err != nil {
		peer = "unknown"
	}
	host, proto := pr.In.Host, "http"
	if pr.In.TLS != nil {
		proto = "https"
	}
	chain := peer
	if trusted {
		if prior := in["X-Forwarded-For"]; len(prior) > 0 {
			chain = strings.Join(prior, ", ") + ", " + peer
		}
		if prior := in["Forwarded"]; len(prior) > 0 {
			out["Forwarded"] = []string{strings.Join(prior, ", ") + ", " + element(peer, host, proto)}
		}
		host, proto = cmp.Or(in.Get("X-Forwarded-Host"), host), cmp.Or(in.Get("X-Forwarded-Proto"), proto)
	}
	out["X-Forwarded-For"] = []string{chain}
	out["X-Forwarded-Host"] = []string{host}
	out["X-Forwarded-Proto"] = []string{proto}
}

// claimsOrigin reports whether a header, its name canonical or not, says where
// a request came from and is not to be passed on. Application servers that
// turn dashes into underscores cannot tell the two, so neither does this.
func claimsOrigin(name string, trusted bool) bool {
	plain := dashed(name)
	trusted = trusted && plain == name
	switch plain {
	case "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded":
		return true // written anew
	case "X-Real-Ip", "True-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip":
		return !trusted
	}
	return !trusted && strings.HasPrefix(plain, "X-Forwarded-")
}

// element is one hop in a Forwarded header (RFC 7239).
func element(peer, host, proto string) string {
	if strings.Contains(peer, ":") {
		peer = `"[` + peer + `]"`
	}
	e := "for=" + peer
	if !strings.ContainsAny(host, `"\`) {
		e += `;host="` + host + `"`
	}
	return e + ";proto=" + proto
}
