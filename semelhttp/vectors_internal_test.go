package semelhttp

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
)

// vectorsDir holds the cases that every implementation must agree on.
const vectorsDir = "../testdata/vectors/"

func readVectors(tb testing.TB, name string, into any) {
	tb.Helper()
	raw := must.Get(os.ReadFile(vectorsDir + name))
	if err := json.Unmarshal(raw, into); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
}

// canonicalVectors is the part of fingerprints.json that concerns bodies; a
// null digest means that no canonical form exists.
type canonicalVectors struct {
	JSON []struct {
		Texts  []string `json:"texts"`
		Digest *string  `json:"digest"`
	} `json:"json"`
	Multipart []struct {
		Bodies []boundBody `json:"bodies"`
		Digest *string     `json:"digest"`
	} `json:"multipart"`
}

type boundBody struct {
	Boundary string `json:"boundary"`
	Body     string `json:"body"`
}

func readCanonicalVectors(tb testing.TB) canonicalVectors {
	tb.Helper()
	var v canonicalVectors
	readVectors(tb, "fingerprints.json", &v)
	if len(v.JSON) < 20 || len(v.Multipart) < 8 {
		tb.Fatalf("fingerprints.json has %d groups of JSON and %d of multipart only", len(v.JSON), len(v.Multipart))
	}
	return v
}

// checkCanonical compares a digest with its vector.
func checkCanonical(t *testing.T, what string, sum [32]byte, err error, want *string) {
	t.Helper()
	switch {
	case want == nil && !errors.Is(err, errNotCanonical):
		t.Errorf("%s: got %x, %v, want no canonical form", what, sum, err)
	case want != nil && (err != nil || hex.EncodeToString(sum[:]) != *want):
		t.Errorf("%s: got %x, %v, want %s", what, sum, err, *want)
	}
}

func TestCanonicalVectors(t *testing.T) {
	t.Parallel()
	vectors := readCanonicalVectors(t)
	for _, group := range vectors.JSON {
		for _, text := range group.Texts {
			sum, err := canonicalJSON(iotest.OneByteReader(strings.NewReader(text)), testCanonicalBytes)
			checkCanonical(t, fmt.Sprintf("JSON %.100q", text), sum, err, group.Digest)
		}
	}
	for _, group := range vectors.Multipart {
		for _, b := range group.Bodies {
			sum, err := canonicalMultipart(iotest.OneByteReader(strings.NewReader(b.Body)), b.Boundary, testCanonicalBytes)
			checkCanonical(t, fmt.Sprintf("multipart %q in %.100q", b.Boundary, b.Body), sum, err, group.Digest)
		}
	}
}

type errorVector struct {
	Condition  string             `json:"condition"`
	Status     int                `json:"status"`
	Type       string             `json:"type"`
	Retryable  bool               `json:"retryable"`
	Definitive bool               `json:"definitive"`
	Headers    map[string]*string `json:"headers"`
}

// errorOf returns an error as it arises under the condition.
func errorOf(condition string) error {
	guarded := func(after time.Duration, err error) error {
		return fmt.Errorf("handle: %w", &semel.Error{Op: "begin", RetryAfter: after, Err: err})
	}
	return map[string]error{
		"key-missing":    errKeyMissing,
		"key-invalid":    fmt.Errorf("%w: the key is empty", semel.ErrKeyInvalid),
		"scope-missing":  fmt.Errorf("scope: %w", semel.ErrScopeMissing),
		"form-stale":     fmt.Errorf("%w: it has expired", ErrFormStale),
		"body-too-large": errBodyTooLarge,
		"in-flight":      guarded(time.Second, semel.ErrInFlight),
		"mismatch":       guarded(0, semel.ErrMismatch),
		"unknown":        guarded(0, semel.ErrUnknown),
		"not-kept":       guarded(0, semel.ErrNotKept),
		"unreadable":     guarded(0, fmt.Errorf("%w: it is encrypted with the key %q", semel.ErrUnreadable, "k1")),
		"cancelled":      guarded(0, semel.ErrCancelled),
		"duplicate":      guarded(0, semel.ErrDuplicate),
		"unavailable":    guarded(time.Second, fmt.Errorf("%w: claim: broken pipe", semel.ErrUnavailable)),
		"full":           guarded(30*time.Second, fmt.Errorf("%w: %w", semel.ErrUnavailable, semel.ErrFull)),
		"shutting-down":  guarded(time.Second, semel.ErrClosed),
		"quota":          guarded(5*time.Second, fmt.Errorf("%w: 2 claims", semel.ErrQuota)),
		"rolled-back":    guarded(time.Second, fmt.Errorf("%w: deadlock", semel.ErrRolledBack)),
		"commit-unknown": fmt.Errorf("%w: %w", errUncertain, guarded(time.Second, semel.ErrUnknown)),
		"held-too-long":  errHeldTooLong,
		"internal":       errors.New("something else"),
	}[condition]
}

// The refusals look as the vectors say, and our own client judges them as the
// vectors say.
func TestErrorVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []errorVector `json:"cases"`
	}
	readVectors(t, "errors.json", &file)
	if len(file.Cases) < 14 {
		t.Fatalf("errors.json has %d cases only", len(file.Cases))
	}
	for _, v := range file.Cases {
		t.Run(v.Condition, func(t *testing.T) {
			t.Parallel()
			err := errorOf(v.Condition)
			if err == nil {
				t.Fatal("no such condition")
			}
			p, _ := problemOf(err)
			rec := httptest.NewRecorder()
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", nil)
			req.Header.Set("Accept", "application/json")
			WriteProblem(rec, req, p)
			resp := rec.Result()
			defer resp.Body.Close()
			checkProblem(t, resp, rec.Body.Bytes(), v)
			if again, err := judgeResponse(resp); err != nil || (again == nil) != v.Definitive {
				t.Errorf("judged %v, %v, want definitive = %v", again, err, v.Definitive)
			}
		})
	}
}

func checkProblem(t *testing.T, resp *http.Response, body []byte, v errorVector) {
	t.Helper()
	var got struct {
		Type      string `json:"type"`
		Title     string `json:"title"`
		Detail    string `json:"detail"`
		Status    int    `json:"status"`
		Retryable bool   `json:"retryable"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if resp.StatusCode != v.Status || got.Status != v.Status || got.Type != v.Type || got.Retryable != v.Retryable {
		t.Errorf("got %d and %+v, want %+v", resp.StatusCode, got, v)
	}
	if got.Title == "" || got.Detail == "" {
		t.Errorf("a title or detail is missing: %+v", got)
	}
	for name, want := range v.Headers {
		lines := resp.Header.Values(name)
		if want == nil && len(lines) > 0 {
			t.Errorf("%s: got %q, want none", name, lines)
		}
		if want != nil && (len(lines) != 1 || lines[0] != *want) {
			t.Errorf("%s: got %q, want %q", name, lines, *want)
		}
	}
}
