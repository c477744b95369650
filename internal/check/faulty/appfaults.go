package faulty

import (
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
)

// visibility is the time after which a queue redelivers a job that has not ended.
const visibility = 200 * time.Millisecond

// appFaults have a correct door, and a faulty application or server.
func appFaults() []Service {
	return []Service{
		{
			Name: "find or create", Says: "The order is searched by its number and created if there is none: two requests at once create two.",
			Caught: []string{"UNIQ-03"},
			Start:  recipe{behaviour: Behaviour{Takes: (*Books).findThenAdd}}.start,
		},
		{
			Name: "unique without an index", Says: "The framework validates that the number is unique by searching for it; the index that would ensure it was never created.",
			Caught: []string{"UNIQ-03"},
			Start:  recipe{behaviour: Behaviour{Takes: (*Books).lookThenAdd}}.start,
		},
		{
			Name: "do nothing, returning nothing", Says: "INSERT … ON CONFLICT DO NOTHING RETURNING returns no row for a duplicate, and the code needs one: 500.",
			Caught: []string{"BASIC-07", "UNIQ-01"},
			Start:  recipe{behaviour: Behaviour{Takes: (*Books).addReturning}}.start,
		},
		{
			Name: "insert ignore", Says: "The database swallows the duplicate, and the application reports an order that does not exist.",
			Caught: []string{"BASIC-07", "UNIQ-02"},
			Start:  recipe{behaviour: Behaviour{Takes: (*Books).addIgnoring}}.start,
		},
		{
			Name: "a refusal without a reason", Says: "The number is taken, and the caller gets a bare 400, as for any other mistake.",
			Caught: []string{"UNIQ-04"},
			Start: recipe{behaviour: Behaviour{Takes: (*Books).AddNew}, inside: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					got := &Answer{}
					next.ServeHTTP(got, r)
					if got.Status == http.StatusConflict {
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					got.writeTo(w, false)
				})
			}}.start,
		},
	}
}

// serverFaults are faults around the application.
func serverFaults() []Service {
	return []Service{
		{
			Name: "gzip goes past", Says: "A compressed body cannot be compared, so the layer passes it on as if it had no key.",
			Caught: []string{"SIZE-04"},
			Start: recipe{decisions: keyed(func(r *http.Request) (string, error) {
				if r.Header.Get("Content-Encoding") != "" {
					return "", errNoKey
				}
				return ReadKey(r)
			})}.start,
		},
		{
			Name: "expectations fail", Says: "A proxy on the way does not support Expect: 100-continue, and considers a client that waits for it dead: 504.",
			Caught: []string{"SIZE-03"},
			Start: recipe{outside: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
						w.WriteHeader(http.StatusGatewayTimeout)
						return
					}
					next.ServeHTTP(w, r)
				})
			}}.start,
		},
		{
			Name: "a queue that delivers twice", Says: "The request only puts a job into a queue; the worker runs it again a moment later, as queues do.",
			Caught: []string{"LAST-01"},
			Start: recipe{
				behaviour: Behaviour{Takes: func(b *Books, o Order) (Order, error) {
					time.AfterFunc(visibility, func() { _, _ = b.Add(o) }) // in memory: never fails
					return b.Add(o)
				}},
				change: func(c *check.Config) { c.Only = []string{"LAST"} },
			}.start,
		},
	}
}
