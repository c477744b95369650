// Package keyorder publishes a batch of an outbox side by side where no order is asked for, and one after the other where it
// is.
package keyorder

import (
	"fmt"

	"github.com/semel-dev/semel/outbox"
)

// Publish gives the batch to send in rounds, each of which holds the next message of every key, and in the first one all
// messages without a key. A round has the indexes of its messages; send publishes them in any order, waits, and sets their
// errors. After an error, the later messages of the key are not sent and fail for that reason. It returns what
// [outbox.Publisher] does.
func Publish(batch []outbox.Message, send func(round []int, errs []error)) []error {
	errs := make([]error, len(batch))
	failed := map[string]bool{}
	for _, round := range rounds(batch) {
		var sent []int
		for _, i := range round {
			if failed[batch[i].Key] {
				errs[i] = fmt.Errorf("not sent, because an earlier message of key %q failed", batch[i].Key)
				continue
			}
			sent = append(sent, i)
		}
		if len(sent) > 0 {
			send(sent, errs)
		}
		for _, i := range sent {
			if errs[i] != nil && batch[i].Key != "" {
				failed[batch[i].Key] = true
			}
		}
	}
	for _, err := range errs {
		if err != nil {
			return errs
		}
	}
	return nil
}

// rounds divides a batch by how many messages of its key are before each one.
func rounds(batch []outbox.Message) [][]int {
	var all [][]int
	before := map[string]int{}
	for i := range batch {
		n := 0
		if key := batch[i].Key; key != "" {
			n = before[key]
			before[key]++
		}
		if n == len(all) {
			all = append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	return all
}
