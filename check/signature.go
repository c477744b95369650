package check

import (
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/webhooksig"
)

// sign turns the request into a delivery sent at that time. Without a secret it only adds the time. The names of the
// lines begin like that of the id: webhook-id, or svix-id with an older sender.
func (c *Config) sign(r *wire.Request, at time.Time) {
	id, prefix := "webhook-id", "webhook-"
	if start, ok := strings.CutSuffix(strings.ToLower(c.Key.Name), "-id"); ok && c.Key.In == keyInHeader {
		id, prefix = c.Key.Name, start+"-"
	}
	r.Set(prefix+"timestamp", strconv.FormatInt(at.Unix(), 10))
	if len(c.Secret) > 0 {
		r.Set(prefix+"signature", webhooksig.Sign(c.Secret, r.Value(id), at, r.Body))
	}
}
