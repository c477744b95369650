// Package texts turns lists into lists of texts.
package texts

// Of returns the text of each item, in their order.
func Of[T any](items []T, text func(T) string) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = text(item)
	}
	return all
}
