// Package webhook signs deliveries as defined by Standard Webhooks.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// secretPrefix begins the secrets of Standard Webhooks.
const secretPrefix = "whsec_"

// DecodeSecret reads the secret of a webhook: whsec_ and base64, or base64 alone. Its error does not repeat the text.
func DecodeSecret(text string) ([]byte, error) {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), secretPrefix))
	if err != nil || len(secret) == 0 {
		return nil, errors.New("the webhook secret is not base64: copy it from the sender, such as " + secretPrefix + "MfKQ9r8G…")
	}
	return secret, nil
}

// Sign returns the signature of a delivery: v1, and the HMAC-SHA256 of id, time
// in seconds and body.
func Sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
