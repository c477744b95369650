package check

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/check/wire"
)

// secretPrefix stands before the secrets of Standard Webhooks.
const secretPrefix = "whsec_"

// DecodeSecret reads the secret of a webhook: whsec_ and base64, or base64
// alone. Its error does not repeat the text.
func DecodeSecret(text string) ([]byte, error) {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), secretPrefix))
	if err != nil || len(secret) == 0 {
		return nil, errors.New("the secret of webhooks is no base64: give it as its sender shows it, such as " + secretPrefix + "MfKQ9r8G…")
	}
	return secret, nil
}

// SignWebhook returns the signature of a delivery as Standard Webhooks has it:
// v1, and the HMAC-SHA256 of id, time in seconds and body.
func SignWebhook(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// sign makes a delivery of the request, sent at that time. Without a secret it
// has a time only. The names of the lines begin as that of the id does, which is
// webhook-id, or svix-id with an older sender.
func (c *Config) sign(r *wire.Request, at time.Time) {
	id, prefix := "webhook-id", "webhook-"
	if start, ok := strings.CutSuffix(strings.ToLower(c.Key.Name), "-id"); ok && c.Key.In == KeyInHeader {
		id, prefix = c.Key.Name, start+"-"
	}
	r.Set(prefix+"timestamp", strconv.FormatInt(at.Unix(), 10))
	if len(c.Secret) > 0 {
		r.Set(prefix+"signature", SignWebhook(c.Secret, r.Value(id), at, r.Body))
	}
}
