package adminapi

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/semel-dev/semel"
)

const (
	// DefaultLimit is the default of the parameter limit.
	DefaultLimit = 100
	// MaxLimit is the most that one call lists.
	MaxLimit = 500

	paramState = "state"
	paramAfter = "after"
)

// endpoint serves one method of one path.
type endpoint struct {
	query []string // the parameters it knows
	body  bool     // it takes JSON
	work  func(context.Context, *call) (any, error)
}

// find returns the endpoint of the call.
func (a *API) find(c *call) (endpoint, error) {
	methods := a.endpoints(c)
	if methods == nil {
		return endpoint{}, refuse(http.StatusNotFound, "no-such-path", "There is nothing here", "Nothing was done. The paths are /v1/records and /v1/audit.")
	}
	method := c.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	end, ok := methods[method]
	if !ok {
		allowed := slices.Collect(maps.Keys(methods))
		if methods[http.MethodGet].work != nil {
			allowed = append(allowed, http.MethodHead)
		}
		slices.Sort(allowed)
		names := strings.Join(allowed, ", ")
		return endpoint{}, refuse(http.StatusMethodNotAllowed, "method-not-allowed", "Not by this method", "Nothing was done. Use "+names+".").with("Allow", names)
	}
	if !end.body && c.ContentLength != 0 {
		return endpoint{}, badField("", "this call takes no body; everything is in its path and query")
	}
	return end, nil
}

// endpoints returns those of the call's path; nil for none.
func (a *API) endpoints(c *call) map[string]endpoint {
	switch c.URL.Path {
	case "/v1/records":
		return map[string]endpoint{
			http.MethodGet:    {query: []string{paramState, "scope", "name", "limit", paramAfter}, work: a.list},
			http.MethodDelete: {query: []string{"scope", "name", "reason"}, work: a.cancelKey},
		}
	case "/v1/audit":
		return map[string]endpoint{http.MethodGet: {query: []string{"limit", paramAfter}, work: a.audit}}
	}
	rest, ok := strings.CutPrefix(c.URL.Path, "/v1/records/")
	digits, act, deeper := strings.Cut(rest, "/")
	c.digest = strings.ToLower(digits)
	switch {
	case !ok:
		return nil
	case !deeper:
		return map[string]endpoint{
			http.MethodGet:    {work: a.show},
			http.MethodDelete: {query: []string{"reason"}, work: a.cancelDigest},
		}
	case act == "resolve":
		return map[string]endpoint{http.MethodPost: {body: true, work: a.resolve}}
	}
	return nil
}

// readQuery reads the parameters, each of which comes once, except state.
func (c *call) readQuery(known []string) error {
	values, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return badField("", "the query cannot be read")
	}
	c.query = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(known, name):
			return badField(name, "this call has no parameter %.40q", name)
		case name == paramState:
			c.states = values[name]
		case len(values[name]) > 1:
			return badField(name, "%q comes more than once", name)
		case !utf8.ValidString(values[name][0]) || strings.Contains(values[name][0], "\x00"):
			return badField(name, "%q is not text in UTF-8", name) // not every store can search for it
		default:
			c.query[name] = values[name][0]
		}
	}
	return nil
}

// limit reads the parameter limit.
func (c *call) limit() (limit int, err error) {
	limit = DefaultLimit
	if text, ok := c.query["limit"]; ok {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > MaxLimit {
			return 0, badField("limit", "%q is a number from 1 to %d", "limit", MaxLimit)
		}
	}
	return limit, nil
}

// record reads the digest in the path.
func (c *call) record() (semel.Digest, error) {
	digest, err := semel.ParseDigest(c.digest)
	if err != nil {
		c.digest = "" // the text could be anything
		return digest, badField("digest", "the path names a record by its whole digest, which has %d hexadecimal digits", 2*len(digest))
	}
	return digest, nil
}
