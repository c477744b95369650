package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/report"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/claimtest"
)

var noError = claimtest.NoError

var update = flag.Bool("update", false, "rewrite the golden files")

// nasty is text by which a hostile service attacks a report.
const nasty = "\x1b[2J</script><script>alert(1)</script>\u202e]]>\x00\xff"

func sent(label string, status int, body string) check.Exchange {
	e := check.Exchange{
		Label: label, Began: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC),
		Request: &wire.Request{
			Method: "POST", URL: &url.URL{Scheme: "https", Host: "shop.example", Path: "/orders"}, Body: []byte(`{"n":17}`),
			Header: []wire.Field{{Name: "Authorization", Value: "***"}, {Name: "Idempotency-Key", Value: `"semel-check-0a"`}, {Name: "Content-Type", Value: "application/json"}},
		},
	}
	if status == 0 {
		e.Error, e.Manner.Fault = wire.ErrLost.Error(), wire.HangUp
		return e
	}
	e.Answer = &wire.Answer{Proto: "HTTP/1.1", Status: status, Header: http.Header{"Location": {"/orders/1"}, "X-Nasty": {nasty}}, Body: []byte(body), Took: 12 * time.Millisecond}
	return e
}

// sample is a report with every verdict.
func sample() *check.Report {
	result := func(id, group string, level check.Level, verdict check.Verdict, says, reason string) check.Result {
		return check.Result{ID: id, Group: group, Level: level, Verdict: verdict, Says: says, Reason: reason, Source: "draft -07 §2.6; Semel promise 2", Took: 1500 * time.Millisecond}
	}
	r := &check.Report{
		Target: "POST https://shop.example/orders", Profile: "ietf", Level: check.LevelShould, Counters: []string{"GET /count at /orders"},
		Began: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), Took: 12345 * time.Millisecond, Announced: 400, Sent: 380, LookUps: 51, Intents: 90,
		Notes: []string{"the service said 429 once"}, Fixed: []string{"KEY-03"},
		Results: []check.Result{
			result("BASIC-01", "basics", check.LevelMust, check.Pass, "A request with a new key is executed once.", ""),
			result("BASIC-02", "basics", check.LevelMust, check.Fail, "A request that is sent again has no second effect.", "2 effects instead of one; the answer said "+nasty),
			result("BASIC-12", "basics", check.LevelShould, check.Known, "A repetition has the same headers about the content.", "ETag was a, and then b"),
			result("KEY-03", "keys", check.LevelShould, check.Pass, `"abc" and abc are the same key.`, ""),
			result("RACE-01", "concurrency", check.LevelMust, check.Incomplete, "Two at once have one effect.", "answers can lie: say how effects are counted, such as with --count json:…"),
			result("RACE-07", "concurrency", check.LevelStrict, check.Skipped, "A refusal says when to come again.", "level STRICT was not asked for"),
			result("RACE-08", "concurrency", check.LevelShould, check.Incomplete, "Different keys do not refuse one another.", "answers can lie: say how effects are counted, such as with --count json:…"),
			result("LOST-05", "lost answers", check.LevelMust, check.Echo, "A retry gets that very answer.", "the retry got another answer: ETag was a, and then b"),
		},
	}
	r.Results[7].EchoOf = "BASIC-12"
	failed := &r.Results[1]
	failed.Advice = "Record the key and the outcome before answering, in one transaction with the effect, and answer from the record."
	failed.Exchanges = []check.Exchange{sent("first", 201, `{"id":1}`), sent("again", 201, nasty), sent("once more", 0, "")}
	failed.Exchanges[2].RequestBytes = 1 << 20
	return r
}

func TestHeadline(t *testing.T) {
	t.Parallel()
	with := func(alter func(*check.Report)) string {
		r := sample()
		alter(r)
		return report.Headline(r)
	}
	verdict := func(v check.Verdict) func(*check.Report) {
		return func(r *check.Report) {
			for i := range r.Results {
				r.Results[i].Verdict = v
			}
		}
	}
	got := []string{
		with(func(*check.Report) {}),
		with(func(r *check.Report) { r.Results[1].Verdict = check.Pass }),
		with(verdict(check.Pass)),
		with(verdict(check.Incomplete)),
		with(verdict(check.Known)),
		with(func(r *check.Report) { verdict(check.Pass)(r); r.Results = r.Results[:1] }),
		with(func(r *check.Report) { r.Results[0].Verdict = check.Fail }),
		with(func(r *check.Report) { r.Results[1].Effects = "more" }),
		with(func(r *check.Report) { r.Results[1].Effects = "fewer" }),
		with(func(r *check.Report) { r.Results[1].ID, r.Results[1].Effects = "RACE-04", "fewer" }),
		with(func(r *check.Report) { r.Results[1].ID = "LOST-05" }),
		with(func(r *check.Report) { r.Results[1].ID = "SCOPE-01" }),
		with(func(r *check.Report) { r.Results[1].ID = "SCOPE-04" }),
		with(func(r *check.Report) { r.Results[1].ID = "MIS-08" }),
		with(func(r *check.Report) { r.Results[1].ID = "NEW-01" }),
		with(func(r *check.Report) { r.Results[1].ID, r.Results[1].Says = "NEW-01", "HTTP is spoken." }),
		with(func(r *check.Report) { r.Died = "the service could not be reached" }),
	}
	want := []string{
		"1 of 7 checks failed: a repeated request is executed again.",
		"Nothing failed, but 2 of 7 checks could not be judged.",
		"All 8 checks passed: what was sent twice happened once.",
		"Nothing is known yet: 8 checks could not be judged.",
		"Nothing new failed: 8 of 8 checks failed as the baseline expects.",
		"The only check passed.",
		"2 of 7 checks failed: even two plain requests do not work as they should.",
		"1 of 7 checks failed: a repeated request is executed again.",
		"1 of 7 checks failed: a request that should be executed has no effect.",
		"1 of 7 checks failed: of requests that arrive together, some are never executed.",
		"1 of 7 checks failed: after a lost answer, a retry does not get the answer.",
		"1 of 7 checks failed: one user is given the answer of another.",
		"1 of 7 checks failed: a cookie is stored with an answer, and given out again.",
		"1 of 7 checks failed: a repeated request in another spelling is executed again.",
		"1 of 7 checks failed: see NEW-01, \"A request that is sent again has no second effect\".",
		"1 of 7 checks failed: see NEW-01, \"HTTP is spoken\".",
		"The service stopped answering during the checks: the service could not be reached.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHeadlineOfEveryCheck: every check has a headline for its failure, by its reason.
func TestHeadlineOfEveryCheck(t *testing.T) {
	t.Parallel()
	for _, one := range check.Catalog() {
		for _, effects := range []string{"", "more", "fewer"} {
			r := &check.Report{Results: []check.Result{{ID: one.ID, Says: one.Says, Verdict: check.Fail, Effects: effects}}}
			got := report.Headline(r)
			if strings.Contains(got, "see "+one.ID) {
				t.Errorf("%s has no consequence: %s", one.ID, got)
			}
			if effects == "fewer" && regexp.MustCompile("executed (again|twice|more than once)|two records|processed again").MatchString(got) {
				t.Errorf("%s, too few effects: %s", one.ID, got)
			}
		}
	}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		noError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (rewrite it with: go test ./check/report -update):\n%s", name, diff)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*report.TextOptions{
		"80.txt": nil, "80-verbose.txt": {Verbose: true}, "50.txt": {Width: 50}, "color.txt": {Color: true},
	} {
		var b bytes.Buffer
		noError(t, report.Text(&b, sample(), o))
		golden(t, name, b.String())
		width := 80
		if o != nil && o.Width > 0 {
			width = o.Width
		}
		for line := range strings.Lines(b.String()) {
			if o != nil && o.Color {
				continue
			}
			if strings.ContainsAny(line, "\x1b\u202e\x00") {
				t.Errorf("%s: %q would take over a terminal", name, line)
			}
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%s: %q has %d columns", name, line, n)
			}
		}
	}
}

// TestTextOfManyFailures: with many failures, the reader learns where to begin, and gets each advice once.
func TestTextOfManyFailures(t *testing.T) {
	t.Parallel()
	r := sample()
	for i := range r.Results {
		r.Results[i].Verdict, r.Results[i].Advice = check.Fail, "Claim the key first."
	}
	r.Results[0].Verdict = check.Pass
	var b bytes.Buffer
	noError(t, report.Text(&b, r, nil))
	for want, times := range map[string]int{"Begin with BASIC-02: ": 1, "try:  Claim the key first.": 1, "try:  as for BASIC-02": 6} {
		if got := strings.Count(b.String(), want); got != times {
			t.Errorf("%q occurs %d times, want %d:\n%s", want, got, times, b.String())
		}
	}
}

func TestReproduce(t *testing.T) {
	t.Parallel()
	golden(t, "reproduce.txt", report.Reproduce(&sample().Results[1]))
	many := &check.Result{LeftOut: 60}
	for i := range 40 {
		e := sent("racer", 201, "")
		e.Request.Body = []byte{byte('a' + i%20)}
		many.Exchanges = append(many.Exchanges, e)
	}
	if got := report.Reproduce(many); strings.Count(got, "\ncurl ") != 8 || !strings.HasSuffix(got, "\n# … and 92 more\n") {
		t.Errorf("got %s", got)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	noError(t, report.JSON(&b, sample()))
	if strings.Count(b.String(), "\n") != 1 {
		t.Errorf("not one line: %s", b.String())
	}
	var indented bytes.Buffer
	noError(t, json.Indent(&indented, b.Bytes(), "", "  "))
	golden(t, "report.json", indented.String())
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	noError(t, report.JUnit(&b, sample()))
	golden(t, "junit.xml", b.String())
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	noError(t, xml.Unmarshal(b.Bytes(), &got))
	if got.Tests != 8 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 4 || len(got.Suites) != 4 {
		t.Errorf("got %+v", got)
	}
	if failure := got.Suites[0].Cases[1].Failure; !strings.Contains(failure, "Record the key") || !strings.Contains(failure, "curl --http1.1") {
		t.Errorf("the failure does not say what to do: %s", failure)
	}
}

// TestHTML parses the page like a browser.
func TestHTML(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	noError(t, report.HTML(&b, sample()))
	doc, err := html.Parse(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	elements, ids := map[string]int{}, map[string]int{}
	for node := range doc.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		elements[node.Data]++
		for _, a := range node.Attr {
			switch a.Key {
			case "src", "href", "style", "onclick":
				if strings.HasPrefix(a.Val, "#") {
					continue
				}
				t.Errorf("<%s %s=%q>: the page has to be one file without scripts", node.Data, a.Key, a.Val)
			case "id":
				if ids[a.Val]++; ids[a.Val] > 1 {
					t.Errorf("id %q is there twice", a.Val)
				}
			}
		}
	}
	if elements["script"] > 0 || elements["link"] > 0 || elements["img"] > 0 {
		t.Errorf("the page loads something: %v", elements)
	}
	if elements["h1"] != 1 || elements["main"] != 1 || elements["article"] != 3 || elements["details"] != 4+2 {
		t.Errorf("got %v", elements)
	}
	if elements["b"] != 8 { // the chart has a mark for each check
		t.Errorf("the chart has %d marks", elements["b"])
	}
	for _, want := range []string{`<html lang="en">`, "1 of 7 checks failed: a repeated request is executed again.", "prefers-color-scheme: dark", "$AUTHORIZATION", "(1048576 bytes)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if name := os.Getenv("SEMEL_TEST_PAGE"); name != "" { // to look at it
		noError(t, os.WriteFile(name, b.Bytes(), 0o600))
	}
}
