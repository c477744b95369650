package semelhttp

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/refusal"
)

// semelSays reads the answer of a service behind the handler that uses Semel as well, and has not ended the intent. again:
// it is to be asked again under the same key. open: it cannot tell what happened either. Neither is an outcome. Its pages
// for people are known by their header, and so is a problem in a coding that cannot be read. Its server errors count as any
// other, because what passes them on may have acted before; but in-flight with 503 (Options.InFlightStatus) is the same word as
// with 409.
func (c *capture) semelSays(status int) (again, open bool) {
	unavailable := status == http.StatusServiceUnavailable
	if status < http.StatusBadRequest || (status >= http.StatusInternalServerError && !unavailable) {
		return false, false
	}
	header := make(http.Header, 4)
	for _, f := range c.mem.sent {
		switch f.name {
		case "Content-Type", "Content-Encoding", "Link", "Retry-After":
			header[f.name] = f.values
		}
	}
	if isProblem(header) {
		if body, read := c.decoded(header.Get("Content-Encoding")); read {
			told := problemIn(body)
			if unavailable {
				return told.Type == problemInFlightType, false
			}
			again = told.Retryable && strings.HasPrefix(told.Type, refusal.Type)
			return again, !again && told.Type == problemUnknownType
		}
	}
	return !unavailable && header["Retry-After"] != nil && slices.Contains(header["Link"], refusal.PolicyLink(DefaultPolicyURL)), false
}

// decoded returns the beginning of the answer without its coding, which a layer or proxy of the service may have added; read is false
// for a coding that is not known here.
func (c *capture) decoded(name string) (body []byte, read bool) {
	body = c.first(maxProblemBytes)
	coding := codingOf(name)
	if coding == "" || coding == "identity" {
		return body, true
	}
	from := decoder(coding, body)
	if from == nil {
		return nil, false
	}
	body, err := io.ReadAll(io.LimitReader(from, maxProblemBytes+1))
	return body, err == nil
}
