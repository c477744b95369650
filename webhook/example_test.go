package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/webhook"
)

// A delivery that comes again gets the answer of the first one, and has no second effect.
func ExampleVerifier_Handler() {
	guard, err := semel.New(memstore.New(nil), nil) // or a store that outlives the process
	if err != nil {
		panic(err)
	}
	defer guard.Close()
	v, err := webhook.NewVerifier(&webhook.VerifierOptions{
		Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		Now:     func() time.Time { return time.Unix(1614265330, 0) }, // leave it out
	})
	if err != nil {
		panic(err)
	}
	handler, err := v.Handler(guard, "payments", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, _ := io.ReadAll(r.Body)
		fmt.Printf("it happens: %s\n", event)
		w.WriteHeader(http.StatusNoContent)
	}), nil)
	if err != nil {
		panic(err)
	}
	for _, body := range []string{`{"test": 2432232314}`, `{"test": 2432232314}`, `{"forged": true}`} {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/hooks", strings.NewReader(body))
		r.Header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
		r.Header.Set("webhook-timestamp", "1614265330")
		r.Header.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Idempotency-Status"))
	}
	// Output:
	// it happens: {"test": 2432232314}
	// 204 executed
	// 204 replayed
	// 401
}

// Where no handler of net/http is at hand, such as in a function of a cloud, the signature can be checked alone.
func ExampleVerifier_Verify() {
	v, err := webhook.NewVerifier(&webhook.VerifierOptions{Scheme: webhook.GitHub, Secrets: []string{"It's a Secret to Every" + "body"}})
	if err != nil {
		panic(err)
	}
	header := http.Header{"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}
	fmt.Println(v.Verify(header, []byte("Hello, World!")))
	fmt.Println(v.Verify(header, []byte("Hello, Mallory!")))
	// Output:
	// <nil>
	// webhook: the delivery is not signed by the sender
}
