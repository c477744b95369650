package faulty

import (
	"net/http"
	"time"

	"github.com/semel-dev/semel/check"
)

// visibility is the time after which a queue redelivers a job that has not ended.
const visibility = 200 * time.Millisecond

// appFaults have a correct door, and a faulty application or server.
func appFaults() []Service {
	return []Service{
		fault("find or create", "The order is looked up by its number and created if there is none: two requests at once create two.",
			by("UNIQ-03"), recipe{behaviour: Behaviour{Takes: (*Books).findThenAdd}}.start),
		fault("unique without an index", "The framework validates that the number is unique by searching for it; the index that would ensure it was never created.",
			by("UNIQ-03"), recipe{behaviour: Behaviour{Takes: (*Books).lookThenAdd}}.start),
		fault("do nothing, returning nothing", "INSERT … ON CONFLICT DO NOTHING RETURNING returns no row for a duplicate, and the code needs one: 500.",
			by("BASIC-07", "UNIQ-01"), recipe{behaviour: Behaviour{Takes: (*Books).addReturning}}.start),
		fault("insert ignore", "The database swallows the duplicate, and the application reports an order that does not exist.",
			by("BASIC-07", "UNIQ-02"), recipe{behaviour: Behaviour{Takes: (*Books).addIgnoring}}.start),
		fault("a refusal without a reason", "The number is taken, and the caller gets a bare 400, as for any other mistake.",
			by("UNIQ-04"), recipe{behaviour: Behaviour{Takes: (*Books).AddNew}, inside: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					got := &Answer{}
					next.ServeHTTP(got, r)
					if got.Status == http.StatusConflict {
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					got.writeTo(w, false)
				})
			}}.start),
		fault("gzip goes past", "A compressed body cannot be compared, so the layer passes it on as if it had no key.",
			by("SIZE-04"), recipe{decisions: keyed(func(r *http.Request) (string, error) {
				if r.Header.Get("Content-Encoding") != "" {
					return "", errNoKey
				}
				return ReadKey(r)
			})}.start),
		fault("a queue that delivers twice", "The request only puts a job into a queue; the worker runs it again a moment later, as queues do.",
			by("LAST-01"), recipe{
				behaviour: Behaviour{Takes: func(b *Books, o Order) (Order, error) {
					time.AfterFunc(visibility, func() { _, _ = b.Add(o) }) // in memory: never fails
					return b.Add(o)
				}},
				change: func(c *check.Config) { c.Only = []string{"LAST"} },
			}.start),
	}
}
