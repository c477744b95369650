// Package wire holds what drivers of all brokers agree on: the headers that a message carries from an outbox to an inbox.
package wire

import (
	"fmt"
	"strings"
)

const (
	// IDHeader holds a message's ID, where the broker has no place of its own for it.
	IDHeader = own + "Id"
	// KeyHeader holds the key that orders messages, where the broker has no place of its own for it.
	KeyHeader = own + "Key"

	// own begins the headers of drivers.
	own = "Semel-"
)

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
