package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/semel-dev/semel/operator"
)

// A crowd behind many records of another kind is shown 50 at a time, each once.
func TestScan(t *testing.T) {
	t.Parallel()
	const records, first, crowd = 10_000, 3_000, 170
	var shown []int
	parts, after := 0, ""
	for pages := 0; pages == 0 || after != ""; pages++ {
		if pages > 20 {
			t.Fatal("the pages do not end")
		}
		var page []int
		k := &call{Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/flows?after="+after, nil)}
		r, err := new(Console).scan(k, func(n int) { page = page[:n] }, func(_ context.Context, s operator.Search) (int, operator.Progress, error) {
			parts++
			begin, _ := strconv.Atoi(s.After) // 0 for the newest
			end := min(begin+s.Examine, records)
			for i := begin; i < end; i++ {
				if i >= first && i < first+crowd {
					page = append(page, i)
				}
			}
			p := operator.Progress{Examined: end - begin}
			if end < records {
				p.Next = strconv.Itoa(end)
			}
			return len(page), p, nil
		})
		if err != nil || len(page) > pageRecords {
			t.Fatalf("a page has %d records, error %v", len(page), err)
		}
		shown, after = append(shown, page...), ""
		if r.Older != "" {
			after = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+r.Older, nil).URL.Query().Get("after")
		}
	}
	for i, at := range shown {
		if at != first+i {
			t.Fatalf("record %d is shown in place of %d", at, first+i)
		}
	}
	if len(shown) != crowd || parts > 60 {
		t.Errorf("got %d records in %d parts, want %d", len(shown), parts, crowd)
	}
}
