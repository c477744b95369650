package check_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel/check"
)

func (a *answers) Name() string    { return "answers" }
func (a *answers) PerIntent() bool { return false }
func (a *answers) Count(context.Context, func(string) string) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.all), nil
}

// TestReveals executes the same body under two keys, as it should be. A value that the second answer shares with the
// first reveals the first only if it belongs to the first alone. The pair is the third and fourth request.
func TestReveals(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct {
		text func(pair int) string
		want check.Verdict
	}{
		"an echo":             {func(int) string { return `{"id":"ord-9000ALL","n":"ASKED","ref":"gears-ASKED"}` }, check.Pass},
		"nothing but an echo": {func(int) string { return `{"n":"ASKED"}` }, check.Pass},
		"a moment":            {func(pair int) string { return fmt.Sprintf(`{"id":"ord-9000ALL","created_at":%q}`, moment(pair)) }, check.Pass},
		"a server":            {func(pair int) string { return fmt.Sprintf(`{"id":"ord-9000ALL","server":"web-2026-%d"}`, pair) }, check.Pass},
		"a checksum":          {func(pair int) string { return fmt.Sprintf(`{"id":"ord-9000ALL","checksum":"9f86d0818%d"}`, pair) }, check.Pass},
		"an amount":           {func(pair int) string { return fmt.Sprintf(`{"id":"ord-9000ALL","total":%d}`, 1000+pair) }, check.Pass},
		"an id":               {func(pair int) string { return fmt.Sprintf(`{"n":ALL,"ref":"ord-9000%d"}`, pair) }, check.Fail},
		"a short id":          {func(pair int) string { return fmt.Sprintf(`{"n":ALL,"id":%d}`, 90+pair) }, check.Fail},
		"the whole body":      {func(pair int) string { return fmt.Sprintf(`{"total":%d}`, 90+pair) }, check.Fail},
		"an id and a batch":   {func(pair int) string { return fmt.Sprintf(`{"id":"ord-9000ALL","batch_id":"batch-9000%d"}`, pair) }, check.Pass},
		"ids and a batch": {func(pair int) string {
			return fmt.Sprintf(`{"order_id":"ord-9000ALL","batch_id":"batch-9000%d"}`, pair)
		}, check.Pass},
		"a link to a list": {func(pair int) string {
			return fmt.Sprintf(`{"order_id":"ord-9000ALL","list_url":"/orders?page=%d"}`, pair)
		}, check.Pass},
		"an id, and that of an event": {func(pair int) string { return fmt.Sprintf(`{"id":"ord-9000%d","event_id":"ev-9000ALL"}`, pair) }, check.Fail},
		"an id in a page":             {func(pair int) string { return fmt.Sprintf(`{"html":"<p id=ALL>","n":ALL,"id":%d}`, 90+pair) }, check.Fail},
		"a constant body":             {func(int) string { return `{"state":"open"}` }, check.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &answers{contentType: "application/json"}
			app.text = func(int, int) string { return given.text((app.all - 1) / 2) }
			config := trial(t, app, app)
			config.Template.Body = []byte(`{"item":"gears","n":{{n}}}`)
			config.Only = []string{"BASIC-07"}
			_, report := runTrial(t, config)
			if got := resultOf(t, report, "BASIC-07"); got.Verdict != given.want {
				t.Errorf("got %s (%s), want %s", got.Verdict, got.Reason, given.want)
			}
		})
	}
}

func moment(n int) string {
	return time.Date(2026, 11, 22, 8, 0, n, 0, time.UTC).Format(time.RFC3339)
}
