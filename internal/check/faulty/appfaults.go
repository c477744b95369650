package faulty

import (
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
)

// visibility is how long a queue waits for the end of a job until it gives it to
// somebody else.
const visibility = 200 * time.Millisecond

// appFaults have a door that is right, and an application, or a server, that
// is not.
func appFaults() []Service {
	return []Service{
		{
			Name:   "find or create",
			Says:   "The order is looked for by its number, and made where there is none: two at once make two.",
			Caught: []string{"UNIQ-03"},
			Start:  recipe{behaviour: Behaviour{Takes: (*Books).findThenAdd}}.start,
		},
		{
			Name:   "unique without an index",
			Says:   "The framework validates that the number is unique by looking; the index that would see to it was never made.",
			Caught: []string{"UNIQ-03"},
			Start:  recipe{behaviour: Behaviour{Takes: (*Books).lookThenAdd}}.start,
		},
		{
			Name:   "do nothing, returning nothing",
			Says:   "INSERT … ON CONFLICT DO NOTHING RETURNING gives no row for a duplicate, and the code needs one: 500.",
			Caught: []string{"BASIC-07", "UNIQ-01"},
			Start:  recipe{behaviour: Behaviour{Takes: (*Books).addReturning}}.start,
		},
		{
			Name:   "insert ignore",
			Says:   "The database swallows the duplicate, and the application tells of an order that is not there.",
			Caught: []string{"BASIC-07", "UNIQ-02"},
			Start:  recipe{behaviour: Behaviour{Takes: (*Books).addIgnoring}}.start,
		},
		{
			Name:   "a refusal without a word",
			Says:   "The number is taken, and the caller gets a bare 400, as for anything else.",
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

// serverFaults are wrong in what stands around the application.
func serverFaults() []Service {
	return []Service{
		{
			Name:   "gzip goes past",
			Says:   "A compressed body cannot be compared, so the layer lets it through as if it had no key.",
			Caught: []string{"SIZE-04"},
			Start: recipe{decisions: keyed(func(r *http.Request) (string, error) {
				if r.Header.Get("Content-Encoding") != "" {
					return "", errNoKey
				}
				return ReadKey(r)
			})}.start,
		},
		{
			Name:   "expectations fail",
			Says:   "A proxy on the way knows no Expect: 100-continue, and takes who waits for it for dead: 504.",
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
			Name:   "a queue that delivers twice",
			Says:   "The request only puts a job into a queue; the worker runs it again a moment later, as queues do.",
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
