package semelhttp

import (
	"bytes"
	"math"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/outcomelog"
)

// The response headers that Semel sets.
const (
	// StatusHeader says what Semel did: one of the words below.
	StatusHeader = "Idempotency-Status"
	// ReplayedHeader is "true" on a replay.
	ReplayedHeader = "Idempotent-Replayed"
)

// words are the values of [StatusHeader], ready to be put into a header. They
// are shared by all requests, and their capacity is their length, so that
// appending makes a copy.
type words struct {
	executed, replayed, notStored, unprotected, released, unknown, yes []string
}

func newWords() words {
	all := [...]string{
		string(outcomelog.Executed), string(outcomelog.Replayed), string(outcomelog.NotStored), string(outcomelog.Unprotected),
		string(outcomelog.Released), string(outcomelog.Unknown), "true",
	}
	return words{all[0:1:1], all[1:2:2], all[2:3:3], all[3:4:4], all[4:5:5], all[5:6:6], all[6:7:7]}
}

// field is one entry of a header.
type field struct {
	name   string
	values []string
}

// neverStored reports whether a response header, its name canonical, belongs to
// one connection, one moment, one session or one page, and so must not be replayed.
func neverStored(name string) bool {
	if crossorigin.ForOrigin(name) {
		return true
	}
	switch name {
	case "Set-Cookie", "Set-Cookie2", "Authorization", "Www-Authenticate", "Authentication-Info",
		"Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
		"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Date", StatusHeader, ReplayedHeader:
		return true
	}
	return false
}

// storable is neverStored for a header as the handler set it: whatever the
// spelling, and together with what its Connection header names.
func storable(name string, connection []string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	if neverStored(name) || strings.HasPrefix(name, http.TrailerPrefix) {
		return false
	}
	for _, line := range connection {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return false
			}
		}
	}
	return true
}

// bodyAllowed reports whether an answer with this status has a body.
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// Statuses without a name in net/http.
const (
	statusPageExpired  = 419 // Laravel: the form's token is too old
	statusLoginTimeout = 440 // IIS: the session has ended
)

// releases reports whether a status says that nothing happened, so that a
// retry runs: not signed in, not allowed, not now, not here, or refused before any
// work, by what routes and reads requests. 404, 406 and 410 are not among them:
// applications also answer them in the middle of their work
// (docs/decisions/0025). A redirect to a sign-in page says the same, see
// leadsToSignIn.
func releases(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusExpectationFailed, // RFC 9110, section 10.1.1: to be sent again without Expect
		statusPageExpired, http.StatusMisdirectedRequest, http.StatusLocked, http.StatusTooEarly,
		http.StatusTooManyRequests, statusLoginTimeout, http.StatusNetworkAuthenticationRequired:
		return true
	case http.StatusPreconditionFailed, http.StatusPreconditionRequired: // RFC 9110, section 13.2.1: looked at before the work
		return true
	case http.StatusMethodNotAllowed, http.StatusLengthRequired, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnsupportedMediaType, http.StatusRequestHeaderFieldsTooLarge:
		return true
	}
	return false
}

// envoyLost begins Envoy's 503 for a connection that failed or was reset before the
// answer; it does not say which.
const envoyLost = "upstream connect error or disconnect/reset before headers"

// lostAnswer reports whether an answer comes from a proxy that did not get one: the
// application behind it may have acted. A handler that passes its own upstream's failure
// on says the same. Any other 503 refuses. testdata/vectors/lost.json has every case.
func lostAnswer(status int, body []byte) bool {
	switch {
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout: // RFC 9110, sections 15.6.3 and 15.6.5
		return true
	case status >= 520 && status <= 527, status == 530: // Cloudflare, which may have tried more than once
		return true
	case status == http.StatusServiceUnavailable:
		return bytes.HasPrefix(body, []byte(envoyLost))
	}
	return status >= 598 // read and connect time-outs of proxies; above 599 nothing is defined (RFC 9110, section 15)
}

// Streams reports whether an answer with this Content-Type only makes sense as
// a stream: it goes out piece by piece, and is not kept.
func Streams(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch media {
	case "text/event-stream", "application/x-ndjson", "multipart/x-mixed-replace", "application/grpc":
		return true
	}
	return strings.HasPrefix(media, "application/grpc+") || strings.HasPrefix(media, "application/grpc-web")
}

// setAge says on a replay how old the answer is, as a cache does (RFC 9111,
// section 5.1): its Date is new, and what it says of its freshness counts from
// when it was made. The age counts from the claim, before there was an answer,
// and is rounded up, so that no cache takes a replay for fresher than the
// original; an age that the original had already is added.
func setAge(header http.Header, rec *semel.Record, room []string) {
	age := math.Ceil(max(0, rec.ReadAt.Sub(rec.ClaimedAt)).Seconds())
	if lines := header["Age"]; len(lines) > 0 {
		n, err := strconv.ParseUint(strings.TrimSpace(lines[0]), 10, 31)
		if err != nil {
			n = math.MaxInt32 // not readable: older than anything
		}
		age += float64(n)
	}
	header["Age"] = append(room, strconv.FormatInt(int64(min(age, math.MaxInt32)), 10))
}

// vary says that an answer depends on the key, so that no cache gives it to a
// request with another key or none.
func (m *Middleware) vary(header http.Header) {
	switch {
	case m.set.keyHeader == "":
		return // it lies in the body, which no cache looks at
	case len(header["Vary"]) == 0:
		header["Vary"] = m.set.varyOnKey
		return
	}
	crossorigin.AddVary(header, m.set.keyHeader)
}
