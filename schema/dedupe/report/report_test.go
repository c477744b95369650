package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/schema/dedupe"
	"github.com/semel-dev/semel/schema/dedupe/report"
)

// TestHTML: the page names the rows, what happens to them and what to look at, and runs nothing that a database holds.
func TestHTML(t *testing.T) {
	t.Parallel()
	p := &dedupe.Plan{
		Dialect: "postgresql", Groups: 40_000, Losers: 51_200, Questions: 1_234,
		Request: dedupe.Request{
			Name: "email", Table: "public.customers", Terms: []string{"lower(email)"}, Winner: "order by <score>", Losers: "mark",
			Columns: []string{"phone=fill", "name=ask", "paid=sql:bool_or(paid)"}, Checks: []string{"payments.amount"},
		},
		Children:    []dedupe.Child{{Table: "public.orders", Columns: "customer_id", Parent: "public.customers", Rows: 120_000}, {Table: "public.lines", Columns: "order_id", Parent: "public.orders", Rows: -1}},
		Collisions:  []dedupe.Collision{{Table: "public.lines", Key: "lines_pos", Rows: 3_000, Does: "deleted", Sample: []string{`["11"]`, `["12"]`}, Differences: []dedupe.Difference{{Column: "street"}}}},
		Triggers:    []string{"trigger <script>alert(1)</script>"},
		Samples:     [][]string{{`["1"]`, `["2"] ["3"]`}, {`["a", "7"]`, `["a", "8"]`}, {`["x\"\n'\\$1"]`, `["a, b"] ["\u202eb"] [""]`}},
		Differences: [][]dedupe.Difference{{{Column: "paid", Values: []string{"10", "NULL", "<7\u202e"}}, {Column: "note"}}},
	}
	var page bytes.Buffer
	if err := report.HTML(&page, p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"51 200 rows are merged into 40 000 others", "kept and marked", "<dd>52</dd>", "about 80 seconds", "order by &lt;score&gt;",
		"2, 3</td>", `<code>paid</code> 10 | NULL | &#34;&lt;7\u202e&#34;`, `<code>note</code> <span class="soft">(not shown)</span>`, "no column</td>", "a / 8</td>", "&#34;x\\&#34;\\n&#39;\\\\$1&#34;</th>", "&#34;a, b&#34;, &#34;\\u202eb&#34;, &#34;&#34;</td>", "&lt;script&gt;", "not counted", "<code>public.lines (lines_pos)</code>", "3 000", "12 and 11: <div><code>street</code>", "would change <code>payments.amount</code>", "the first value among the others", "<dt>Open questions</dt><dd>1 234</dd>", "the one that a person chooses",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
	if strings.Contains(page.String(), "<script") {
		t.Error("the page has a script")
	}
}

// TestDuration: estimates are not more exact than they are worth.
func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "a few seconds", 44 * time.Second: "about 40 seconds", 10 * time.Minute: "about 10 minutes", 5*time.Hour + 40*time.Minute: "about 6 hours",
	} {
		if got := report.Duration(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
