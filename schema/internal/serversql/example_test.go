package serversql_test

import (
	"fmt"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

// What a server writes back is read as what was written.
func ExampleExpression() {
	for _, text := range []string{"lower(TRIM(BOTH FROM (email)::text))", "date_part('year'::text, issued_on)", "md5(email)"} {
		e, ok := serversql.Expression(dialect.PostgreSQL, text)
		fmt.Println(e, ok)
	}
	// Output:
	// lower(trim(email)) true
	// year(issued_on) true
	//  false
}
