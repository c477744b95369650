package faulty

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/webhooksig"
)

// tolerance bounds the age of a delivery, and how far ahead its sender's clock may be.
const tolerance = 5 * time.Minute

// Signed passes on deliveries with a current signature as defined by Standard Webhooks.
func Signed(secret []byte, next http.Handler) http.Handler {
	return signedWithin(secret, tolerance, next)
}

func signedWithin(secret []byte, most time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := ReadBody(r)
		if err != nil {
			answerProblem(w, http.StatusBadRequest, "the delivery did not arrive")
			return
		}
		r.Body = readable(body)
		if !genuine(secret, r.Header, body, most) {
			answerProblem(w, http.StatusUnauthorized, "the signature is wrong, or not current")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// genuine reports whether the delivery has a valid signature, and an age of at most that.
func genuine(secret []byte, header http.Header, body []byte, most time.Duration) bool {
	seconds, err := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	at := time.Unix(seconds, 0)
	signed := webhooksig.Sign(secret, header.Get("webhook-id"), at, body)
	return err == nil && time.Since(at).Abs() <= most && slices.Contains(strings.Fields(header.Get("webhook-signature")), signed)
}

// ReadDelivery reads the id of a delivery.
func ReadDelivery(r *http.Request) (string, error) {
	lines := r.Header.Values("webhook-id")
	if len(lines) != 1 {
		return "", errBadKey
	}
	return parseKey(lines[0])
}
