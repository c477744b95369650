package gateway

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// forwarding knows which peers are proxies whose word counts.
type forwarding struct {
	trusted []netip.Prefix
}

// settle drops what a peer that is not trusted says about the origin of the request, so that
// every reader of the header, and the upstream, sees the same.
func (f *forwarding) settle(r *http.Request) {
	if len(f.trusted) > 0 && f.trusts(r.RemoteAddr) {
		return
	}
	for name := range r.Header {
		if claimsOrigin(name) {
			delete(r.Header, name)
		}
	}
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

// addHop tells the upstream where a settled request came from: what its header says already,
// and that it came through here.
func addHop(out http.Header, in *http.Request) {
	for name, values := range in.Header {
		if claimsOrigin(name) {
			out[name] = values
		}
	}
	peer, _, err := net.SplitHostPort(in.RemoteAddr)
	if err != nil {
		peer = "unknown"
	}
	proto := "http"
	if in.TLS != nil {
		proto = "https"
	}
	if chain := slices.Clone(in.Header["X-Forwarded-For"]); in.RemoteAddr != "" {
		out["X-Forwarded-For"] = []string{strings.Join(append(chain, peer), ", ")}
		if prior := in.Header["Forwarded"]; len(prior) > 0 {
			out["Forwarded"] = []string{strings.Join(prior, ", ") + ", " + element(peer, in.Host, proto)}
		}
	}
	out["X-Forwarded-Host"] = []string{cmp.Or(in.Header.Get("X-Forwarded-Host"), in.Host)}
	out["X-Forwarded-Proto"] = []string{cmp.Or(in.Header.Get("X-Forwarded-Proto"), proto)}
}

// claimsOrigin reports whether a header of this canonical name says where a request came from.
func claimsOrigin(name string) bool {
	switch name {
	case "Forwarded", "X-Real-Ip", "True-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
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
