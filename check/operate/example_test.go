package operate_test

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel/check/operate"
)

func ExampleCommand() {
	restart := operate.Then(operate.Command("true"), operate.Command("echo no such unit; exit 5"))
	fmt.Println(restart(context.Background()))
	// Output:
	// run the command: exit status 5: no such unit
}
