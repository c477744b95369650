// Package browserkey recognises keys that a browser adds on its own.
package browserkey

import (
	"regexp"
	"strings"
)

var (
	number     = regexp.MustCompile(`^"[0-9]{1,20}"$`)
	longNumber = regexp.MustCompile(`^"[0-9]{15,20}"$`)
)

// Added reports whether the browser, and no program, wrote the key of a request. Firefox can send a random number of 64 bits in
// quotes with every POST, another one each time, so it names no intent. Forms cannot set headers, so the key of a navigation
// is the browser's own; where Firefox does not say that it navigates, the number must have more digits than a time has.
func Added(values func(name string) []string) bool {
	first := func(name string) string {
		if all := values(name); len(all) == 1 {
			return all[0]
		}
		return ""
	}
	key := first("Idempotency-Key")
	if first("Sec-Fetch-Mode") == "navigate" {
		return number.MatchString(key)
	}
	return longNumber.MatchString(key) && strings.Contains(first("User-Agent"), " Firefox/")
}
