package check_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// A plan says what would be sent, and sends nothing.
func ExampleNewPlan() {
	profile, _ := check.ProfileNamed("ietf")
	plan, err := check.NewPlan(check.Config{
		Template: check.Template{
			Method: http.MethodPost, URL: "http://localhost:9000/orders", Body: []byte(`{"number":{{n}}}`),
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
		},
		Profile: profile, Only: []string{"BASIC-02", "RACE-02"},
	})
	if err != nil {
		panic(err)
	}
	for _, one := range plan.Checks {
		fmt.Println(one.ID, one.Level, one.Says)
	}
	fmt.Println("bounded:", plan.Requests < 200) // the most that Run sends
	_, err = check.NewPlan(check.Config{Template: check.Template{Method: http.MethodPost, URL: "localhost:9000/orders"}, Profile: profile})
	fmt.Println(err)
	// Output:
	// BASIC-02 MUST A request that is sent again has no second effect.
	// RACE-02 MUST Ten attempts of one intent at once have one effect.
	// bounded: true
	// the URL "localhost:9000/orders" does not begin with http:// or https://
}

// An application that ignores keys fails.
func ExamplePlan_Run() {
	app := &counter{} // takes orders, and counts them
	server := httptest.NewServer(app)
	defer server.Close()
	profile, _ := check.ProfileNamed("ietf")
	plan, err := check.NewPlan(check.Config{
		Template: check.Template{Method: http.MethodPost, URL: server.URL + "/orders", Body: []byte(`{"number":{{n}}}`)},
		Profile:  profile, Counters: []check.Counter{app}, Settle: 100 * time.Millisecond, Only: []string{"BASIC-01", "BASIC-02"},
	})
	if err != nil {
		panic(err)
	}
	report, err := plan.Run(context.Background())
	if err != nil {
		panic(err)
	}
	for _, one := range report.Results {
		if one.Verdict == check.Fail {
			fmt.Println(one.ID, one.Reason)
		}
	}
	fmt.Println("fine:", report.Fine())
	// Output:
	// BASIC-02 2 effects instead of one
	// fine: false
}

func ExampleValues_Fill() {
	fmt.Println(check.Values{"n": "17"}.Fill("/orders/{{n}}?of={{var:tenant}}"))
	// Output: /orders/17?of={{var:tenant}}
}
