package zoo

import (
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
)

// visibility is how long a queue waits for the end of a job until it gives it to
// somebody else.
const visibility = 200 * time.Millisecond

// appAnimals have a door that is right, and an application, or a server, that
// is not.
func appAnimals() []Animal {
	return []Animal{
		{
			Name:   "find or create",
			Says:   "The order is looked for by its number, and made where there is none: two at once make two.",
			Caught: []string{"UNIQ-03"},
			Setup:  habitat{habits: Habits{Takes: (*Books).findThenAdd}}.home,
		},
		{
			Name:   "unique without an index",
			Says:   "The framework validates that the number is unique by looking; the index that would see to it was never made.",
			Caught: []string{"UNIQ-03"},
			Setup:  habitat{habits: Habits{Takes: (*Books).lookThenAdd}}.home,
		},
		{
			Name:   "do nothing, returning nothing",
			Says:   "INSERT … ON CONFLICT DO NOTHING RETURNING gives no row for a duplicate, and the code needs one: 500.",
			Caught: []string{"BASIC-07", "UNIQ-01"},
			Setup:  habitat{habits: Habits{Takes: (*Books).addReturning}}.home,
		},
		{
			Name:   "insert ignore",
			Says:   "The database swallows the duplicate, and the application tells of an order that is not there.",
			Caught: []string{"BASIC-07", "UNIQ-02"},
			Setup:  habitat{habits: Habits{Takes: (*Books).addIgnoring}}.home,
		},
		{
			Name:   "a refusal without a word",
			Says:   "The number is taken, and the caller gets a bare 400, as for anything else.",
			Caught: []string{"UNIQ-04"},
			Setup: habitat{habits: Habits{Takes: (*Books).AddNew}, inside: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					got := &Answer{}
					next.ServeHTTP(got, r)
					if got.Status == http.StatusConflict {
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					got.writeTo(w, false)
				})
			}}.home,
		},
	}
}

// serverAnimals are wrong in what stands around the application.
func serverAnimals() []Animal {
	return []Animal{
		{
			Name:   "gzip goes past",
			Says:   "A compressed body cannot be compared, so the layer lets it through as if it had no key.",
			Caught: []string{"SIZE-04"},
			Setup: habitat{decisions: keyed(func(r *http.Request) (string, error) {
				if r.Header.Get("Content-Encoding") != "" {
					return "", errNoKey
				}
				return ReadKey(r)
			})}.home,
		},
		{
			Name:   "expectations fail",
			Says:   "A proxy on the way knows no Expect: 100-continue, and takes who waits for it for dead: 504.",
			Caught: []string{"SIZE-03"},
			Setup: habitat{outside: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
						w.WriteHeader(http.StatusGatewayTimeout)
						return
					}
					next.ServeHTTP(w, r)
				})
			}}.home,
		},
		{
			Name:   "a queue that delivers twice",
			Says:   "The request only puts a job into a queue; the worker runs it again a moment later, as queues do.",
			Caught: []string{"LAST-01"},
			Setup: habitat{
				habits: Habits{Takes: func(b *Books, o Order) (Order, error) {
					time.AfterFunc(visibility, func() { _, _ = b.Add(o) }) // in memory: never fails
					return b.Add(o)
				}},
				change: func(c *check.Config) { c.Only = []string{"LAST"} },
			}.home,
		},
	}
}
