package keyorder_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/keyorder"
	"github.com/semel-dev/semel/outbox"
)

// Messages of a key go one after the other, and none goes after one that failed.
func TestPublish(t *testing.T) {
	t.Parallel()
	batch := []outbox.Message{{Key: "a", ID: "0"}, {Key: "a", ID: "1 fails"}, {Key: "a", ID: "2"}, {Key: "b", ID: "3"}, {Key: "b", ID: "4"}, {ID: "5 fails"}, {ID: "6"}}
	for name, tt := range map[string]struct {
		batch []outbox.Message
		sent  [][]int
		errs  string
	}{
		"nothing":    {},
		"no failure": {batch[2:5], [][]int{{0, 1}, {2}}, "[]"},
		"failures":   {batch, [][]int{{0, 3, 5, 6}, {1, 4}}, `[<nil> no not sent, because an earlier message of key "a" failed <nil> <nil> no <nil>]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent [][]int
			errs := keyorder.Publish(tt.batch, func(round []int, errs []error) {
				sent = append(sent, round)
				for _, i := range round {
					if len(tt.batch[i].ID) > 1 {
						errs[i] = errors.New("no")
					}
				}
			})
			if diff := cmp.Diff(tt.sent, sent); diff != "" {
				t.Errorf("rounds (-want +got):\n%s", diff)
			}
			if got := fmt.Sprint(errs); got != tt.errs && len(tt.batch) > 0 {
				t.Errorf("got errors %s, want %s", got, tt.errs)
			}
		})
	}
}
