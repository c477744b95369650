package operate_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/semel-dev/semel/internal/check/operate"
	"github.com/semel-dev/semel/internal/check/wire"
)

func ExampleCommand() {
	restart := operate.Then(operate.Command("true"), operate.Command("echo no such unit; exit 5"))
	fmt.Println(restart(context.Background()))
	// Output:
	// run the command: exit status 5: no such unit
}

// A service is ready when it answers at all.
func ExampleReady() {
	shop := httptest.NewServer(http.NotFoundHandler())
	defer shop.Close()
	fmt.Println(operate.Ready(&wire.Client{}, shop.URL)(context.Background()))
	// Output: <nil>
}
