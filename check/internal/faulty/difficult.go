package faulty

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Difficult returns services without a mistake that are hard to judge: a check may find that it cannot tell, with the
// reason, but must accuse none.
func Difficult() []Service {
	members := func(outside func(http.Handler) http.Handler) recipe {
		return recipe{change: TwoMembers, outside: func(next http.Handler) http.Handler { return outside(Members(next)) }}
	}
	refused := func(status int, retryAfter string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			answerProblem(w, status, "not now")
		}
	}
	return []Service{
		healthy("60 requests, then 401", "A token is for sixty requests.", members(from(sixty, 1<<40, refused(http.StatusUnauthorized, ""))).start),
		healthy("60 requests, then 403", "A trial account is for sixty requests.", members(from(sixty, 1<<40, refused(http.StatusForbidden, ""))).start),
		healthy("60 requests, then 429", "The quota of the day is sixty requests.", members(from(sixty, 1<<40, refused(http.StatusTooManyRequests, ""))).start),
		healthy("429 now and then", "Every seventh request is one too many, and the answer does not say when to come again.",
			members(every(7, refused(http.StatusTooManyRequests, ""))).start),
		healthy("429 with a time", "Every seventh request is one too many, and the answer says when to come again.",
			members(every(7, refused(http.StatusTooManyRequests, "0"))).start),
		healthy("unsteady", "Of a hundred requests fifteen are answered 503, at random.", members(atRandom(15, refused(http.StatusServiceUnavailable, ""))).start),
		healthy("away for a while", "In the middle of the run, fifty requests are answered 503.",
			members(from(80, 50, refused(http.StatusServiceUnavailable, ""))).start),
		healthy("maintenance", "In the middle of the run, fifty requests are answered 200 with a page about maintenance.",
			members(from(80, 50, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<h1>We are back soon</h1>")
			})).start),
		healthy("busy", "One request at a time, and each takes a while.", members(inTurn(15*time.Millisecond)).start),
		healthy("only chunks refused", "A proxy in front answers 400 to a body in chunks, whatever its key.",
			recipe{outside: unless(chunked, refused(http.StatusBadRequest, ""))}.start),
		healthy("chunks are another request", "What comes in chunks is refused by 422, whatever its key.",
			recipe{outside: unless(chunked, refused(http.StatusUnprocessableEntity, ""))}.start),
		healthy("no large bodies", "A proxy in front answers 422 to a body of more than 64 KiB.",
			recipe{outside: unless(func(r *http.Request) bool { return r.ContentLength > 64<<10 }, refused(http.StatusUnprocessableEntity, ""))}.start),
		healthy("no expectations", "A proxy in front does not support Expect: 100-continue, and answers 504.",
			recipe{outside: unless(expecting, refused(http.StatusGatewayTimeout, ""))}.start),
		healthy("very long answers", "An answer has more than a megabyte, and how it ends is not compared.", recipe{decisions: func(d *Decisions) {
			d.First = func(w http.ResponseWriter, a *Answer) { atLength(a).writeTo(w, false) }
			d.Replay = func(w http.ResponseWriter, a *Answer) { atLength(a).writeTo(w, true) }
		}}.start),
		healthy("only bare UUIDs", "A key is a UUID without quotes, as frameworks check it.", recipe{decisions: keyed(bareUUID)}.start),
	}
}

// sixty is the number of requests of a quota.
const sixty = 60

// instead returns a layer that answers some requests to orders by another handler; which gets the number of the request.
func instead(which func(n int64) bool, answer http.HandlerFunc) func(http.Handler) http.Handler {
	var n atomic.Int64
	return unless(func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/orders") && which(n.Add(1)) }, answer)
}

func from(first, long int64, answer http.HandlerFunc) func(http.Handler) http.Handler {
	return instead(func(n int64) bool { return n > first && n <= first+long }, answer)
}

func every(nth int64, answer http.HandlerFunc) func(http.Handler) http.Handler {
	return instead(func(n int64) bool { return n%nth == 0 }, answer)
}

func atRandom(percent int, answer http.HandlerFunc) func(http.Handler) http.Handler {
	return instead(func(int64) bool { return rand.IntN(100) < percent }, answer) //nolint:gosec // no secret depends on it.
}

// inTurn lets one request in, and each takes that long.
func inTurn(takes time.Duration) func(http.Handler) http.Handler {
	var turn sync.Mutex
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			turn.Lock()
			time.AfterFunc(takes, turn.Unlock)
			next.ServeHTTP(w, r)
		})
	}
}

// unless answers the requests of which bad reports true by another handler.
func unless(bad func(*http.Request) bool, answer http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if bad(r) {
				_, _ = io.Copy(io.Discard, r.Body) // so that the answer arrives
				answer(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// atLength returns the answer with a long member, which differs each time after the part that is compared.
func atLength(a *Answer) *Answer {
	long := a.kept()
	if a.Status >= http.StatusBadRequest {
		return long
	}
	text := strings.TrimSuffix(long.Body.String(), "}")
	long.Body.Reset()
	_, _ = fmt.Fprintf(&long.Body, `%s,"notes":"%s %d"}`, text, strings.Repeat("long ", 300<<10), rand.Int64()) //nolint:gosec // no secret depends on it.
	return long
}

func chunked(r *http.Request) bool { return len(r.TransferEncoding) > 0 }

func expecting(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Expect"), "100-continue")
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// bareUUID reads a key that must be a UUID.
func bareUUID(r *http.Request) (string, error) {
	if lines := r.Header.Values("Idempotency-Key"); len(lines) != 1 || !uuidForm.MatchString(lines[0]) {
		return "", errBadKey
	}
	return r.Header.Get("Idempotency-Key"), nil
}
