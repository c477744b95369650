package tallybook

import (
	"errors"
	"strconv"
	"strings"
)

// maxAmountCents bounds a single invoice or payment: one billion units.
const maxAmountCents = 1_000_000_000_00

// maxAmountChars bounds what is read of a typed amount before it is parsed.
const maxAmountChars = 32

var (
	errAmountMissing  = errors.New("enter an amount")
	errAmountShape    = errors.New("use digits and at most two decimals, such as 1250.50 or 1\u00a0250,50")
	errAmountPositive = errors.New("the amount must be more than zero")
	errAmountTooLarge = errors.New("the amount must be at most 1 000 000 000.00")
)

// parseAmount reads an amount as a person types it and returns cents. A point
// or a comma separates at most two decimals; spaces may group the digits by
// three. "1,250" is refused rather than guessed: it may mean either.
func parseAmount(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, errAmountMissing
	}
	if len(text) > maxAmountChars {
		return 0, errAmountTooLarge
	}
	magnitude, negative := strings.CutPrefix(text, "-")
	whole, decimals, err := splitAmount(magnitude)
	if err != nil {
		return 0, err
	}
	if negative {
		return 0, errAmountPositive
	}
	cents, err := strconv.ParseInt(whole+decimals, 10, 64)
	if err != nil {
		return 0, errAmountTooLarge
	}
	return cents, checkAmount(cents)
}

// checkAmount reports whether cents lies within the bounds of one invoice or
// payment.
func checkAmount(cents int64) error {
	if cents <= 0 {
		return errAmountPositive
	}
	if cents > maxAmountCents {
		return errAmountTooLarge
	}
	return nil
}

// splitAmount separates the units from exactly two decimals, both digits only.
func splitAmount(text string) (whole, decimals string, err error) {
	whole, decimals = text, ""
	if at := strings.IndexAny(text, ".,"); at >= 0 {
		whole, decimals = text[:at], text[at+1:]
		if decimals == "" || len(decimals) > 2 {
			return "", "", errAmountShape
		}
	}
	decimals += "00"[len(decimals):]
	whole, grouped := ungroup(whole)
	if !grouped || !onlyDigits(whole) || !onlyDigits(decimals) {
		return "", "", errAmountShape
	}
	return whole, decimals, nil
}

// ungroup removes the spaces between groups of three digits; ok is false when
// there are spaces elsewhere.
func ungroup(whole string) (digits string, ok bool) {
	plain := strings.NewReplacer("\u00a0", " ", "\u2009", " ", "\u202f", " ").Replace(whole)
	groups := strings.Split(plain, " ")
	for i, group := range groups {
		if len(groups) > 1 && (len(group) > 3 || i > 0 && len(group) != 3) {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

func onlyDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// formatAmount writes cents for people: grouped by no-break spaces, two
// decimals, a proper minus sign. [parseAmount] reads it back unless negative.
func formatAmount(cents int64) string {
	sign := ""
	magnitude := uint64(cents) //nolint:gosec // negated below; two's complement keeps the smallest value right
	if cents < 0 {
		sign, magnitude = "\u2212", -magnitude
	}
	units := strconv.FormatUint(magnitude/100, 10)
	for at := len(units) - 3; at > 0; at -= 3 {
		units = units[:at] + "\u00a0" + units[at:]
	}
	decimals := strconv.FormatUint(100+magnitude%100, 10)[1:]
	return sign + units + "." + decimals
}
