package semelhttp

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/crossorigin"
)

// setAge says on a replay how old the answer is, as a cache does (RFC 9111,
// section 5.1): its Date is new, and what it says of its freshness counts from
// when it was made. The age counts from the claim, before there was an answer,
// and is rounded up, so that no cache takes a replay for fresher than the
// original; an age that the original had already is added.
func setAge(header http.Header, rec *semel.Record) {
	age := math.Ceil(max(0, rec.ReadAt.Sub(rec.ClaimedAt)).Seconds())
	if lines := header["Age"]; len(lines) > 0 {
		n, err := strconv.ParseUint(strings.TrimSpace(lines[0]), 10, 31)
		if err != nil {
			n = math.MaxInt32 // not readable: older than anything
		}
		age += float64(n)
	}
	header["Age"] = []string{strconv.FormatInt(int64(min(age, math.MaxInt32)), 10)}
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
