package rules_test

import (
	"fmt"

	"github.com/semel-dev/semel/rules"
)

// All problems of a file are reported at once, each with its place and what
// to do.
func ExampleParse() {
	for _, text := range []string{
		"version: 1\nroutes:\n  - name: payments\n    match: {methods: [POST], path: /payments}\n    required: true\n    retention: 72h\n",
		"version: 1\nroutes:\n  - name: payments\n    match: {methods: [POST], path: /payments}\n    retention: 72\n",
	} {
		file, err := rules.Parse("semel.yaml", []byte(text))
		if err != nil {
			fmt.Println(err)
			continue
		}
		route := &file.Routes[0]
		fmt.Println(route.Name, route.Match.Patterns(), route.Required, route.Policy.Retention)
	}
	// Output:
	// payments [POST /payments] true 72h0m0s
	// semel.yaml:5:16: retention is the number 72 (write a number and a unit, such as "10s", "5m", "24h" or "3d")
}
