package semelhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// flakyShop answers 503 once, then 201.
type flakyShop struct{ seen int }

func (s *flakyShop) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	if s.seen++; s.seen == 1 {
		rec.WriteHeader(http.StatusServiceUnavailable)
	} else {
		rec.WriteHeader(http.StatusCreated)
		fmt.Fprint(rec, "order 1")
	}
	fmt.Println("attempt", s.seen, keyOnTheWire(req))
	return rec.Result(), nil
}

// keyOnTheWire reads the key as a server would: whatever the case of its name.
func keyOnTheWire(req *http.Request) string {
	for name, lines := range req.Header {
		if strings.EqualFold(name, "Idempotency-Key") {
			return lines[0]
		}
	}
	return ""
}

func ExampleTransport() {
	client := &http.Client{Transport: &semelhttp.Transport{Base: &flakyShop{}}}

	// The key belongs to the wish, and is kept with it.
	ctx := semelhttp.WithIntent(context.Background(), "order-draft-17")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://shop.example/orders", strings.NewReader(`{"book":1}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if errors.Is(err, semel.ErrUnknown) {
		fmt.Println("try again later, with the same key")
		return
	} else if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body))
	// Output:
	// attempt 1 "order-draft-17"
	// attempt 2 "order-draft-17"
	// 201 order 1
}
