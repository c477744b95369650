package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/check/report"
	"github.com/semel-dev/semel/internal/check/wire"
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

func ExampleReproduce() {
	fmt.Print(report.Reproduce(&twice().Results[0]))
	// Output:
	// # first … again, 2 times: answered 201 … answered 201
	// curl --http1.1 --globoff --path-as-is -X 'POST' \
	//   -H "Authorization: $AUTHORIZATION" \
	//   -H 'Idempotency-Key: "semel-check-0a"' \
	//   -H 'Content-Type:' \
	//   --data-raw 'amount=5' \
	//   'http://localhost:9000/orders'
}

func ExampleJUnit() {
	found := twice()
	found.Results[0].Verdict, found.Results[0].Reason = check.Pass, ""
	if err := report.JUnit(os.Stdout, found); err != nil {
		panic(err)
	}
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <testsuites name="semel check POST http://localhost:9000/orders" time="1.000" tests="1" failures="0" errors="0" skipped="0">
	//   <testsuite name="basics" timestamp="2026-11-22T08:00:00" time="0.000" tests="1" failures="0" errors="0" skipped="0">
	//     <testcase classname="semel.basics" name="BASIC-02 A request that is sent again has no second effect." time="0.000"></testcase>
	//   </testsuite>
	// </testsuites>
}

func ExampleJSON() {
	var text bytes.Buffer
	if err := report.JSON(&text, twice()); err != nil {
		panic(err)
	}
	var read struct {
		Version int
		Fine    bool
		Counts  map[string]int
		Results []struct{ ID, Verdict string }
	}
	if err := json.Unmarshal(text.Bytes(), &read); err != nil {
		panic(err)
	}
	fmt.Println(read.Version, read.Fine, read.Counts["fail"], read.Results)
	// Output: 1 false 1 [{BASIC-02 fail}]
}

func ExampleHTML() {
	var page strings.Builder
	if err := report.HTML(&page, twice()); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(page.String(), report.Headline(twice())), strings.Contains(page.String(), "<script"))
	// Output: true false
}
