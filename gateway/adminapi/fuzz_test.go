package adminapi_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// FuzzTokens: a file of tokens is read, or refused with the line; no token is
// repeated in the refusal.
func FuzzTokens(f *testing.F) {
	f.Add("alice " + aliceToken + "\n")
	f.Add("# nobody\n\nalice\t" + aliceToken + " read\r\nbob x")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := adminapi.LoadTokens(write(t, text, 0o600))
		if (err == nil) != (len(tokens) > 0) {
			t.Fatalf("%d tokens and %v", len(tokens), err)
		}
		if err == nil {
			return
		}
		for field := range strings.FieldsSeq(text) {
			if len(field) >= 32 && strings.Contains(err.Error(), field) {
				t.Errorf("the refusal repeats a token: %v", err)
			}
		}
	})
}

// FuzzVerdict: whatever body comes, the API refuses or settles, and the record
// and the audit trail agree on which.
func FuzzVerdict(f *testing.F) {
	f.Add(`{"as":"released","reason":"not there"}`)
	f.Add(`{"as":"completed","reason":"there","status":201,"body":"17","location":"/a"}`)
	f.Add(`{"as":"cancelled","reason":"void","retention":"24h"}`)
	f.Add(`{"as":"completed","reason":"x","result":{"a":[1]}}`)
	f.Add(`{"as":"completed","reason":"x","status":204,"no_body":true,"body_base64":"AA=="}`)
	var serial atomic.Int64
	short := semel.Policy{Retention: time.Minute, UnknownRetention: time.Minute}
	guard := must.Get(semel.New(memstore.New(nil), &semel.Options{Policy: short}))
	f.Cleanup(func() { _ = guard.Close() })
	token := must.Get(adminapi.NewToken("alice", aliceToken, false))
	many := adminapi.Rate{Every: 1, Burst: 1 << 30}
	api := must.Get(adminapi.New(guard, &adminapi.Options{Tokens: []adminapi.Token{token}, Calls: many, AuditRetention: time.Minute}))
	records := must.Get(operator.New(guard, nil))
	f.Fuzz(func(t *testing.T, body string) {
		key := semel.Key{Scope: "shop", Name: strconv.FormatInt(serial.Add(1), 10)}
		claim, _, err := guard.Begin(t.Context(), key, semel.Fingerprint{})
		if err == nil && claim != nil {
			err = claim.Unknown("lost")
		}
		if err != nil {
			t.Fatal(err)
		}
		before := must.Get(records.Audit(t.Context(), operator.AuditParams{Limit: 1}))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/records/"+claim.Digest().String()+"/resolve", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+aliceToken)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		after := must.Get(records.Audit(t.Context(), operator.AuditParams{Limit: 1}))
		rec, _ := guard.Lookup(t.Context(), key) // absent when released
		written := len(after.Entries) > 0 && (len(before.Entries) == 0 || after.Entries[0].Position != before.Entries[0].Position)
		if settled := rec.State != semel.StateUnknown; settled != (w.Code == http.StatusOK) || settled != written {
			t.Errorf("%q: status %d, the record is %v, an entry was written: %v", body, w.Code, rec.State, written)
		}
	})
}
