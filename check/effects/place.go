package effects

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/internal/place"
)

// ofIntent reports whether the texts have places that distinguish intents. The error says what is wrong with the
// places.
func ofIntent(texts ...string) (bool, error) {
	names := place.Names(texts...)
	for _, name := range names {
		if !slices.Contains([]string{"uuid", "n", "now", "key", "minted"}, name) && !strings.HasPrefix(name, "var:") {
			return false, fmt.Errorf("unknown place {{%s}}: use {{uuid}}, {{n}}, {{key}}, {{minted}} or {{var:NAME}}", name)
		}
	}
	for _, name := range []string{"uuid", "n", "key", "minted"} {
		if slices.Contains(names, name) {
			return true, nil
		}
	}
	if slices.Contains(names, "now") {
		return false, errors.New("{{now}} alone does not identify a request: count by {{n}}, {{uuid}} or {{key}}")
	}
	return false, nil
}

// filled returns the text with the values of an intent. A place without a value is an error, as the count would be of
// something else.
func filled(fill func(string) string, text string) (string, error) {
	text = fill(text)
	if left := place.Names(text); len(left) > 0 {
		return "", fmt.Errorf("{{%s}} has no value here: the request under test, or its log-in, must have it", left[0])
	}
	return text, nil
}
