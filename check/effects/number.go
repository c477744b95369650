package effects

import (
	"fmt"
	"math/big"
	"strings"
)

// maxShown limits how much of an answer an error quotes, in runes.
const maxShown = 60

// number parses a count: digits, or 3.00, as databases write a sum.
func number(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxShown || strings.ContainsAny(text, "eE/_xXoObBpP") { // an exponent may take all memory
		return 0, fmt.Errorf("%s is not a number", shown(text))
	}
	value, ok := new(big.Rat).SetString(text)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s is not a number", shown(text))
	case !value.IsInt() || !value.Num().IsInt64():
		return 0, fmt.Errorf("%s is not a whole number of effects", shown(text))
	}
	return value.Num().Int64(), nil
}

func shown(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
