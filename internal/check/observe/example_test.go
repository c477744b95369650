package observe_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/semel-dev/semel/internal/check/observe"
)

func ExampleOpen() {
	bank, err := observe.Open(context.Background(), "127.0.0.1:0", "") // no upstream: it is the bank
	if err != nil {
		panic(err)
	}
	defer bank.Close()
	bank.FailNext(1, http.StatusServiceUnavailable)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 3 {
		payment, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+bank.Address()+"/pay", strings.NewReader("10"))
		if err != nil {
			panic(err)
		}
		answer, err := client.Do(payment)
		if err != nil {
			panic(err)
		}
		_ = answer.Body.Close()
		fmt.Println(answer.Status)
	}
	fmt.Println(bank.Count(context.Background(), nil))
	// Output:
	// 503 Service Unavailable
	// 201 Created
	// 201 Created
	// 2 <nil>
}
