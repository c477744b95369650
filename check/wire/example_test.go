package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/semel-dev/semel/check/wire"
)

// The same request is sent whole, and then with its answer lost: the error says so, and the answer that the client
// never saw is returned with it.
func ExampleClient_Do() {
	orders := 0
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		orders++
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":%d}`, orders)
	}))
	defer shop.Close()
	to, err := url.Parse(shop.URL + "/orders")
	if err != nil {
		panic(err)
	}
	order := &wire.Request{
		Method: http.MethodPost, URL: to, Body: []byte(`{"amount":5}`),
		Header: []wire.Field{{Name: "idempotency-key", Value: `"8e03978e"`}}, // sent in this spelling
	}
	var client wire.Client
	answer, err := client.Do(context.Background(), order, nil)
	fmt.Println(answer.Status, string(answer.Body), err)
	answer, err = client.Do(context.Background(), order, &wire.Manner{Fault: wire.LoseAnswer})
	fmt.Println(answer.Status, string(answer.Body), errors.Is(err, wire.ErrLost))
	// Output:
	// 201 {"id":1} <nil>
	// 201 {"id":2} true
}

func ExampleCurl() {
	to := &url.URL{Scheme: "http", Host: "localhost:9000", Path: "/orders"}
	fmt.Println(wire.Curl(&wire.Request{Method: http.MethodPost, URL: to, Body: []byte("amount=5")}, &wire.Manner{}))
	// Output:
	// curl --http1.1 --globoff --path-as-is -X 'POST' \
	//   -H 'Content-Type:' \
	//   --data-raw 'amount=5' \
	//   'http://localhost:9000/orders'
}

// A relay imitates a proxy that dies after forwarding the request.
func ExampleOpenRelay() {
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer shop.Close()
	to, err := url.Parse(shop.URL)
	if err != nil {
		panic(err)
	}
	relay, err := wire.OpenRelay(context.Background(), wire.Address(to), func() bool { return true })
	if err != nil {
		panic(err)
	}
	defer relay.Close()
	client := wire.Client{Dial: relay.Dial}
	_, err = client.Do(context.Background(), &wire.Request{Method: http.MethodPost, URL: to}, nil)
	fmt.Println(errors.Is(err, wire.ErrCut))
	// Output: true
}
