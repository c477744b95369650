package near

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// By says what rows have in common that may be duplicates: all of its terms.
type By []Term

// Term is a column, and what of its values counts.
type Term struct{ Column, How string }

// form returns what reduces a value to what counts of it, or nil.
func (t Term) form() func(string) string {
	switch t.How {
	case "exact":
		return func(s string) string { return s }
	case "text", "email":
		return text
	case "letters":
		return letters
	case "mailbox":
		return mailbox
	case "digits":
		return digits
	case "phone":
		return phone
	}
	return nil
}

// ParseBy reads COLUMN:FORM, several of them separated by commas. A column without a form counts as it is.
func ParseBy(text string) (By, error) {
	var by By
	for part := range strings.SplitSeq(text, ",") {
		column, how, _ := strings.Cut(strings.TrimSpace(part), ":")
		t := Term{strings.TrimSpace(column), strings.TrimSpace(how)}
		t.How = cmp.Or(t.How, "exact")
		if t.form() == nil || t.Column == "" {
			return nil, fmt.Errorf("%q: write COLUMN:FORM, with one of the forms exact, text, letters, email, mailbox, digits and phone", text)
		}
		by = append(by, t)
	}
	return by, nil
}

// String writes it as ParseBy reads it.
func (by By) String() string {
	var all []string
	for _, t := range by {
		all = append(all, t.Column+":"+t.How)
	}
	return strings.Join(all, ",")
}

// key joins what counts of the values of a row; ok is false when one of them is empty, because empty values are not the same.
func (by By) key(values []*string) (key string, ok bool) {
	var all []string
	for i, t := range by {
		if values[i] == nil {
			return "", false
		}
		part := t.form()(*values[i])
		if part == "" {
			return "", false
		}
		all = append(all, part)
	}
	return strings.Join(all, " · "), true
}

// text ignores case, the width of letters and the number of spaces.
func text(s string) string {
	return strings.Join(strings.Fields(cases.Fold().String(norm.NFKC.String(s))), " ")
}

// letters ignores accents, punctuation and the order of words as well.
func letters(s string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r) && unicode.Is(unicode.Inherited, r): // accents, but not the vowels of Indian scripts
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return r
		}
		return ' '
	}, norm.NFKD.String(text(s)))
	words := strings.Fields(plain)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// mailbox ignores what many providers ignore in an address: the tag behind a plus sign and, at Gmail, dots.
func mailbox(s string) string {
	s = text(s)
	at := strings.LastIndexByte(s, '@')
	if at <= 0 {
		return s
	}
	name, host := s[:at], s[at+1:]
	if tag := strings.IndexByte(name, '+'); tag > 0 {
		name = name[:tag]
	}
	if host == "gmail.com" || host == "googlemail.com" {
		name, host = strings.ReplaceAll(name, ".", ""), "gmail.com"
	}
	return name + "@" + host
}

// digits are the digits of all scripts, without zeros in front.
func digits(s string) string {
	all := strings.Map(func(r rune) rune {
		if !unicode.Is(unicode.Nd, r) {
			return -1
		}
		first := r // the digits of a script follow each other from zero to nine, and scripts may follow each other
		for unicode.Is(unicode.Nd, first-1) {
			first--
		}
		return '0' + (r-first)%10
	}, s)
	return strings.TrimLeft(all, "0")
}

const (
	// phoneDigits are the last digits of a phone number that do not depend on how the country is written.
	phoneDigits = 9
	fewDigits   = 5
)

// phone is the end of a phone number; fewer than five digits do not count.
func phone(s string) string {
	all := digits(s)
	if len(all) < fewDigits {
		return ""
	}
	return all[max(0, len(all)-phoneDigits):]
}
