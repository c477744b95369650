package semelhttp

import (
	"net/http"
	"slices"
	"strings"
)

// semelSays reads the answer of a service behind the handler that uses Semel as well, and has not ended the intent. again:
// it is to be asked again under the same key. open: it cannot tell what happened either. Neither is an outcome. Its pages
// for people are known by their header. Its server errors count as any other, because what passes them on may have acted before;
// but in-flight with 503 (Options.InFlightStatus) is the same word as with 409.
func (c *capture) semelSays(status int) (again, open bool) {
	unavailable := status == http.StatusServiceUnavailable
	if status < http.StatusBadRequest || (status >= http.StatusInternalServerError && !unavailable) {
		return false, false
	}
	header := make(http.Header, 3)
	for _, f := range c.mem.sent {
		switch f.name {
		case "Content-Type", "Link", "Retry-After":
			header[f.name] = f.values
		}
	}
	if isProblem(header) {
		told := problemIn(c.first(maxProblemBytes))
		if unavailable {
			return told.Type == problemInFlightType, false
		}
		again = told.Retryable && strings.HasPrefix(told.Type, problemType)
		return again, !again && told.Type == problemUnknownType
	}
	return !unavailable && header["Retry-After"] != nil && slices.Contains(header["Link"], policyLink(DefaultPolicyURL)), false
}
