package gateway

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/rules"
)

// The application must get the request that the gateway has judged. Whatever a proxy or an application server could read
// otherwise in a header is settled before anything else looks at it.

// consoleCookies are those of the console. Cookies know no ports, so a browser also sends them to an application on the same host.
func consoleCookies() []string {
	return []string{"semel_console", "__Secure-semel_console", "__Host-semel_console"} // the last is an earlier release's
}

// judgedHeaders returns the names, canonical, of the headers by which the gateway
// tells requests, callers and keys apart, besides Content-* and X-Forwarded-*.
func judgedHeaders(file *rules.File) (judged, keys []string) {
	keys = []string{canonicalKeyHeader, canonicalKeyHeaderX}
	judged = []string{"Authorization", "Cookie", "Forwarded", "Host"}
	if file == nil {
		return append(judged, keys...), keys
	}
	for i := range file.Routes {
		rule := &file.Routes[i]
		judged = append(judged, conditionHeaders(rule)...)
		if rule.Key.Header != "" {
			keys = append(keys, textproto.CanonicalMIMEHeaderKey(rule.Key.Header))
		}
		if rule.Key.WebhookID {
			keys = append(keys, "Webhook-Id")
		}
		if rule.Key.Webhook != nil {
			keys = append(keys, schemeOf(rule.Key.Webhook).Headers()...)
		}
		if rule.Key.Derive != nil {
			for _, name := range rule.Key.Derive.Headers {
				judged = append(judged, textproto.CanonicalMIMEHeaderKey(name))
			}
		}
		for j := range rule.Scope {
			if name := rule.Scope[j].Header; name != "" {
				judged = append(judged, textproto.CanonicalMIMEHeaderKey(name))
			}
		}
	}
	return append(judged, keys...), keys
}

// judges reports whether the gateway looks at the header of this name.
func (g *Gateway) judges(name string) bool {
	return strings.HasPrefix(name, "Content-") || claimsOrigin(name) || slices.Contains(g.judged, name)
}

// settleHeader takes from the request what the application would not get, or could read as another header, and reports whether
// what is left has one reading only.
//
// A field that Connection names belongs to the connection. It is dropped here, before anything looks at it, as it will be before
// the request is passed on; a field that the request is judged by must not be named there (RFC 9110, section 7.6.1). Application
// servers that turn dashes into underscores take Content_Type for Content-Type: such a field is dropped, and one that could hold
// the key is refused, because its sender wants protection. Headers about the request's origin stay if their sender is trusted;
// with Next, the server around the gateway has decided. The console's cookies are not the application's.
func (g *Gateway) settleHeader(r *http.Request) bool {
	if !httpguts.ValidHeaderFieldName(r.Method) || !httpguts.ValidHostHeader(r.Host) {
		return false // HTTP/2 has room for what HTTP/1 cannot say
	}
	for _, line := range r.Header["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			name := textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(option))
			if g.judges(dashed(name)) {
				return false
			}
			if !ofConnection(name) {
				delete(r.Header, name)
			}
		}
	}
	for name := range r.Header {
		folded := dashed(name)
		switch {
		case folded == name:
		case changes(r.Method) && slices.Contains(g.keyHeaders, folded):
			return false
		case g.judges(folded), ofConnection(folded):
			delete(r.Header, name)
		}
	}
	if g.config.Next == nil {
		(&forwarding{trusted: g.config.TrustedProxies}).settle(r)
	}
	scope.DropCookies(r.Header, func(name, _ string) bool { return slices.Contains(consoleCookies(), name) })
	return true
}

// dashed returns the name, canonical, that application servers may read in one with underscores.
func dashed(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	return textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// ofConnection reports whether a header always belongs to one connection;
// httputil.ReverseProxy reads some of these, and passes none on.
func ofConnection(name string) bool {
	switch name {
	case "", "Close", "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// ambiguousHeader is the detail for a request that settleHeader refused.
const ambiguousHeader = "Nothing was done. The method or the host is malformed, the Connection header names a header that is meant for the application, or the key's header is spelt with an underscore."

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

// addHop tells the upstream where a settled request came from: what its header says already, and that it came through here.
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

// refuseTunnel takes from an outgoing request what asks the upstream to speak HTTP, or to encrypt it, over the same connection:
// what came through such a tunnel would pass every rule unseen. Other upgrades, such as websocket, stay.
func refuseTunnel(out http.Header) {
	delete(out, "Http2-Settings")
	for _, line := range out["Upgrade"] {
		for protocol := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(protocol)), "/")
			switch name {
			case "h2c", "h2", "h3", "http", "https", "tls", "ssl", "spdy":
				delete(out, "Upgrade")
				delete(out, "Connection") // which net/http/httputil wrote for it
				return
			}
		}
	}
}

// preflightTimeout bounds how long the upstream may take to say what it allows a page of another origin.
const preflightTimeout = 5 * time.Second

// askPreflight sends the preflight that the page's browser would send, and returns the header of its answer, or nil.
func (g *Gateway) askPreflight(r *http.Request) http.Header {
	ctx, cancel := context.WithTimeout(r.Context(), preflightTimeout)
	defer cancel()
	req, err := g.question(ctx, http.MethodOptions, r.URL.EscapedPath(), r)
	if err != nil {
		return nil
	}
	req.Header = http.Header{"Origin": r.Header["Origin"], "Access-Control-Request-Method": {r.Method}}
	var names []string
	for _, name := range append([]string{"Authorization", "Content-Type"}, g.keyHeaders...) {
		if len(r.Header[name]) > 0 {
			names = append(names, strings.ToLower(name))
		}
	}
	if slices.Sort(names); len(names) > 0 {
		req.Header["Access-Control-Request-Headers"] = []string{strings.Join(names, ",")}
	}
	addHop(req.Header, r)
	res, err := g.upstream.read(req)
	if err != nil {
		return nil
	}
	_ = res.Body.Close() // the header is the news
	return res.Header
}
