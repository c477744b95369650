package fencing_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/semel-dev/semel"
)

// TestHTTPServiceRefuses: a service that takes the fence from a header and
// refuses with 409 what its own table refuses.
func TestHTTPServiceRefuses(t *testing.T) {
	t.Parallel()
	table := sqliteSystem(t).guards["upsert"]
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fence, err := strconv.ParseUint(r.Header.Get("X-Fence"), 10, 64)
		if err != nil {
			http.Error(w, "X-Fence must be a decimal number", http.StatusBadRequest)
			return
		}
		switch written, err := table.write(r.Context(), "bolt", 1, semel.Fence(fence)); {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case !written:
			http.Error(w, "a holder with a greater fence was here", http.StatusConflict)
		}
	}))
	t.Cleanup(service.Close)
	for _, step := range []struct {
		fence string
		want  int
	}{{"9", 200}, {"10", 200}, {"9", 409}, {"10", 200}, {"", 400}, {"0", 400}, {"18446744073709551615", 400}, {"10", 200}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, service.URL, http.NoBody)
		must(t, err)
		r.Header.Set("X-Fence", step.fence)
		res, err := service.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != step.want {
			t.Errorf("fence %q: got %d, want %d", step.fence, res.StatusCode, step.want)
		}
	}
}

// TestFileNames: names that carry a padded fence sort as the fences do.
func TestFileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, fence := range []semel.Fence{10, 1795293840152597, 9, 1<<64 - 1, 1} { // the order in which they are written
		draft := filepath.Join(dir, fmt.Sprint("draft-", uint64(fence)))
		must(t, os.WriteFile(draft, fmt.Append(nil, uint64(fence)), 0o600))
		must(t, os.Rename(draft, filepath.Join(dir, fmt.Sprintf("report.%020d.csv", uint64(fence)))))
	}
	names, err := filepath.Glob(filepath.Join(dir, "report.*.csv"))
	if err != nil || len(names) != 5 {
		t.Fatalf("got %v, %v; want five files", names, err)
	}
	got, err := os.ReadFile(slices.Max(names))
	if err != nil || string(got) != "18446744073709551615" {
		t.Errorf("the greatest name has %q, %v; want the greatest fence", got, err)
	}
}
