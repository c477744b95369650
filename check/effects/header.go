package effects

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// Header counts by a header of the answer, such as X-Total-Count, or Content-Range, whose number is after the slash.
// The URL and the request's header lines may have places ([check.Template]). A nil client means the zero client.
func Header(client *wire.Client, url, name string, header []wire.Field) (check.Counter, error) {
	if name == "" {
		return nil, errors.New("the name of the header is missing: write it as X-Total-Count")
	}
	name = http.CanonicalHeaderKey(name)
	return countOf(client, url, name, slices.Clone(header), nil, func(answer *wire.Answer, _ func(string) string) (int64, error) {
		value := answer.Header.Get(name)
		if value == "" {
			return 0, fmt.Errorf("the answer has no header %s, only %s", name, strings.Join(slices.Sorted(maps.Keys(answer.Header)), ", "))
		}
		_, total, ranged := strings.Cut(value, "/") // items 0-9/42
		if !ranged {
			total = value
		}
		n, err := number(total)
		if err != nil {
			return 0, fmt.Errorf("the header %s: %w", name, err)
		}
		return n, nil
	})
}
