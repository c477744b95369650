package report_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/report"
	"github.com/semel-dev/semel/check/wire"
)

// twice returns a report of one check, as Plan.Run does.
func twice() *check.Report {
	order := &wire.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: "localhost:9000", Path: "/orders"}, Body: []byte("amount=5"),
		Header: []wire.Field{{Name: "Authorization", Value: wire.Hidden}, {Name: "Idempotency-Key", Value: `"semel-check-0a"`}},
	}
	return &check.Report{
		Target: "POST http://localhost:9000/orders", Profile: "ietf", Level: check.LevelShould, Announced: 24, Sent: 4, Intents: 3,
		Counters: []string{"/total at http://localhost:9000/orders"}, Began: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), Took: time.Second,
		Results: []check.Result{{
			ID: "BASIC-02", Group: "basics", Level: check.LevelMust, Verdict: check.Fail,
			Says: "A request that is sent again has no second effect.", Reason: "2 effects instead of one", Source: "draft -07 §2.6",
			Advice: "Record the key before answering.",
			Exchanges: []check.Exchange{
				{Label: "first", Request: order, Answer: &wire.Answer{Status: http.StatusCreated}},
				{Label: "again", Request: order, Answer: &wire.Answer{Status: http.StatusCreated}},
			},
		}},
	}
}

func ExampleHeadline() {
	fmt.Println(report.Headline(twice()))
	// Output: 1 of 1 check failed: a repeated request is executed again.
}

func ExampleText() {
	if err := report.Text(os.Stdout, twice(), nil); err != nil {
		panic(err)
	}
	// Output:
	// 1 of 1 check failed: a repeated request is executed again.
	//
	// POST http://localhost:9000/orders, profile ietf, level SHOULD
	// Effects are counted by /total at http://localhost:9000/orders
	//
	// basics         1 failed
	//   FAIL BASIC-02 MUST: A request that is sent again has no second effect.
	//        seen: 2 effects instead of one
	//        try:  Record the key before answering.
	//        from: draft -07 §2.6
	//
	// 1 check: 1 failed.
	// 4 requests sent of at most 24 announced, and 0 look-ups, in 1.0s.
	// The run left up to 4 records behind, under 3 keys that begin with semel-check-.
}
