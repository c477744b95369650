package faulty

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
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
		if !fresh(r.Header.Get("webhook-timestamp"), most) || !genuine(secret, r.Header, body) {
			answerProblem(w, http.StatusUnauthorized, "the signature is wrong, or not current")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func fresh(timestamp string, most time.Duration) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && time.Since(time.Unix(seconds, 0)).Abs() <= most
}

func genuine(secret []byte, header http.Header, body []byte) bool {
	sum := hmac.New(sha256.New, secret)
	_, _ = sum.Write([]byte(header.Get("webhook-id") + "." + header.Get("webhook-timestamp") + "." + string(body))) // never fails
	want := []byte("v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	for given := range strings.FieldsSeq(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(given), want) {
			return true
		}
	}
	return false
}

// ReadDelivery reads the id of a delivery.
func ReadDelivery(r *http.Request) (string, error) {
	lines := r.Header.Values("webhook-id")
	if len(lines) != 1 {
		return "", errBadKey
	}
	return parseKey(lines[0])
}
