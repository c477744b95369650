package refusal

import "strings"

// ReferenceDigits is the number of digits of a digest that a reference has.
const ReferenceDigits = 8

// Reference returns the first digits of a digest, for people to read to each other: 6C5B-3130, by which the console finds the record. Two records
// can have the same one; the console then lists both.
func Reference(digest string) string {
	const half = ReferenceDigits / 2
	return strings.ToUpper(digest[:half] + "-" + digest[half:ReferenceDigits])
}
