// Package effects counts effects where they end up: in a list that the service
// shows, a header, a page, a table, a file, or what a command prints.
//
//	orders, err := effects.JSON(&client, "http://localhost:8080/orders", "/total", nil)
//	rows, err := effects.SQL("shop", db, dialect.PostgreSQL, "SELECT count(*) FROM orders WHERE number = {{n}}")
//	plan, err := check.NewPlan(check.Config{Counters: []check.Counter{orders, rows}, …})
//
// Where a place such as {{n}} stands in what is asked, effects are counted for
// one intent, and nobody else's work disturbs the count. Otherwise everything is
// counted, and nothing but the check may use the service meanwhile.
//
// A count that cannot be trusted is an error, which says what to do, and never a
// number: of a list that goes on at another page, of a file that was rotated, of
// an answer that was cut.
package effects
