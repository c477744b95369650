package place_test

import (
	"fmt"

	"github.com/semel-dev/semel/internal/check/place"
)

func ExampleAt() {
	doc := map[string]any{"orders": []any{map[string]any{"id": "o-1"}}}
	fmt.Println(place.At(doc, "/orders/0/id"))
	// Output: o-1 true
}
