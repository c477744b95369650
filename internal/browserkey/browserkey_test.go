package browserkey_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel/internal/browserkey"
)

// TestAdded: the headers are those of Firefox 153 with network.http.idempotencyKey.enabled.
func TestAdded(t *testing.T) {
	t.Parallel()
	const (
		firefox  = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0"
		chromium = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
	)
	for name, row := range map[string]struct {
		agent, mode string
		keys        []string
		want        bool
	}{
		"a form":                         {firefox, "navigate", []string{`"10907034174502853237"`}, true},
		"a form, small number":           {firefox, "navigate", []string{`"7"`}, true},
		"a form without Sec-Fetch":       {firefox, "", []string{`"10907034174502853237"`}, true},
		"fetch":                          {firefox, "cors", []string{`"11928949335802111766"`}, true},
		"a time of a script":             {firefox, "cors", []string{`"1796000000000"`}, false},
		"a script's key":                 {firefox, "cors", []string{`"8e03978e-40d5-43dd-bc93-6894a57f9324"`}, false},
		"another browser":                {chromium, "cors", []string{`"11928949335802111766"`}, false},
		"a program":                      {"", "", []string{`"11928949335802111766"`}, false},
		"no quotes":                      {firefox, "navigate", []string{"11928949335802111766"}, false},
		"more digits than 64 bits have":  {firefox, "navigate", []string{`"111928949335802111766"`}, false},
		"two":                            {firefox, "navigate", []string{`"1"`, `"2"`}, false},
		"none":                           {firefox, "navigate", nil, false},
		"what a person may have written": {firefox, "navigate", []string{`"order-17"`}, false},
	} {
		h := http.Header{"User-Agent": {row.agent}, "Sec-Fetch-Mode": {row.mode}, "Idempotency-Key": row.keys}
		if got := browserkey.Added(h.Values); got != row.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
