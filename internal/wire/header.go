// Package wire holds what drivers of all brokers agree on: the headers that a message carries from an outbox to an inbox.
package wire

import (
	"fmt"
	"strings"
	"time"
)

const (
	// IDHeader holds a message's ID, where the broker has no place of its own for it.
	IDHeader = own + "Id"
	// KeyHeader holds the key that orders messages, where the broker has no place of its own for it.
	KeyHeader = own + "Key"

	// own begins the headers of drivers.
	own = "Semel-"
)

// Values gathers the headers of a delivery, as package inbox takes them.
type Values struct {
	First    map[string]string   // the first value of each
	Repeated map[string][]string // all values of those that have several; nil for none
}

// Add appends a value.
func (v *Values) Add(name, value string) {
	first, known := v.First[name]
	switch {
	case !known && v.First == nil:
		v.First = map[string]string{name: value}
	case !known:
		v.First[name] = value
	case v.Repeated == nil:
		v.Repeated = map[string][]string{name: {first, value}}
	case v.Repeated[name] == nil:
		v.Repeated[name] = []string{first, value}
	default:
		v.Repeated[name] = append(v.Repeated[name], value)
	}
}

// Time returns a time as package inbox keeps it: in UTC and to the millisecond, and zero when no calendar has it, as for a producer
// that took microseconds for milliseconds.
func Time(t time.Time) time.Time {
	const lastYear = 9999 // of RFC 3339, and so of JSON
	if t = t.UTC().Truncate(time.Millisecond); t.Year() < 1 || t.Year() > lastYear {
		return time.Time{}
	}
	return t
}

// CheckHeader refuses a header that drivers write, or the broker: its reserved names, of which one that ends in * is a prefix. Case
// does not matter.
func CheckHeader(header map[string]string, reserved ...string) error {
	for name := range header {
		for _, other := range append(reserved, own+"*") {
			prefix, isPrefix := strings.CutSuffix(other, "*")
			if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) && (isPrefix || len(name) == len(prefix)) {
				return fmt.Errorf("header %s is reserved (%s): name it otherwise", name, other)
			}
		}
	}
	return nil
}
