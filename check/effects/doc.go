// Package effects counts effects where they end up: in a list of the service, a header, a page, a table, a file, or the
// output of a command.
//
//	orders, err := effects.JSON(&client, "http://localhost:8080/orders", "/total", nil)
//	rows, err := effects.SQL("shop", db, dialect.PostgreSQL, "SELECT count(*) FROM orders WHERE number = {{n}}")
//	plan, err := check.NewPlan(check.Config{Counters: []check.Counter{orders, rows}, …})
//
// If the question contains a place such as {{n}}, effects are counted for one intent, and other callers do not disturb the
// count. Otherwise everything is counted, and only the check may use the service meanwhile.
//
// A count that cannot be trusted is an error, which says what to do, and never a number: of a list with further pages, of a
// rotated file, of a truncated answer.
package effects
