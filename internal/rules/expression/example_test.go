package expression_test

import (
	"fmt"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
)

// One expression, in the words of each database.
func ExampleExpr_Render() {
	e, err := expression.Parse("year(issued_on)")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range dialect.All() {
		text, err := e.Render(d, nil)
		fmt.Println(d, text, err)
	}
	// Output:
	// postgresql EXTRACT(year FROM "issued_on") <nil>
	// mysql year(`issued_on`) <nil>
	// sqlite CAST(strftime('%Y', "issued_on") AS INTEGER) <nil>
}

// What a database cannot index is refused, with what to write instead.
func ExampleParse() {
	for _, text := range []string{"lower(trim(email))", "lowr(email)", "date(now())"} {
		e, err := expression.Parse(text)
		fmt.Println(e, err)
	}
	// Output:
	// lower(trim(email)) <nil>
	//  expression lowr(email): the function "lowr" is not known (did you mean "lower"?)
	//  expression date(now()): now gives something else every time, so no database can index it (store the value in a column when the row is written, and name the column)
}

// Rows that do not count are left out of the index.
func ExamplePredicate_Render() {
	var p expression.Predicate
	for _, text := range []string{"merged_into is set", "status = 'cancelled'"} {
		c, err := expression.ParseException(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		p = append(p, c)
	}
	for _, d := range dialect.All() {
		text, err := p.Render(d, nil)
		fmt.Println(text, err)
	}
	// Output:
	// "merged_into" IS NULL AND "status" IS DISTINCT FROM 'cancelled' <nil>
	// `merged_into` IS NULL AND NOT (`status` <=> 'cancelled') <nil>
	// "merged_into" IS NULL AND "status" IS NOT 'cancelled' <nil>
}
