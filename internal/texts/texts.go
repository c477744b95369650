// Package texts writes lists and counts.
package texts

import "fmt"

// Of returns the text of each item, in their order.
func Of[T any](items []T, text func(T) string) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = text(item)
	}
	return all
}

// Count writes a number of things, "1 row" or "2 rows". The noun takes an s in the plural.
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
