package invoices

import (
	"errors"
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxNameChars  = 120
	maxNoteChars  = 2000
	maxEmailBytes = 254 // RFC 5321: the longest address that fits a path
)

// fieldError is one thing wrong with one field, in words for its author.
type fieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// fieldErrors is everything wrong with a form, in the order of its fields.
type fieldErrors []fieldError

// Error implements error.
func (e fieldErrors) Error() string {
	messages := make([]string, len(e))
	for i, f := range e {
		messages[i] = f.Field + ": " + f.Message
	}
	return strings.Join(messages, "; ")
}

// On returns what is wrong with the named field, or "". Templates call it.
func (e fieldErrors) On(field string) string {
	for _, f := range e {
		if f.Field == field {
			return f.Message
		}
	}
	return ""
}

// add appends err, if any, as the trouble with field.
func (e fieldErrors) add(field string, err error) fieldErrors {
	if err == nil {
		return e
	}
	return append(e, fieldError{Field: field, Message: err.Error()})
}

// orNil is e as an error: nil when nothing is wrong.
func (e fieldErrors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

var (
	errCustomerUnknown = errors.New("choose a customer from the list")
	errNameMissing     = errors.New("enter a name")
	errNameTooLong     = errors.New("the name must be at most 120 characters")
	errNameControl     = errors.New("the name must be one line of readable text")
	errEmailMissing    = errors.New("enter an e-mail address")
	errEmailShape      = errors.New("enter an e-mail address such as name@example.com")
	errCurrencyUnknown = errors.New("choose a currency from the list")
	errMethodUnknown   = errors.New("choose a payment method from the list")
	errNoteTooLong     = errors.New("the note must be at most 2000 characters")
	errNoteText        = errors.New("the note must be readable text")
)

// currencies lists the codes on offer; each has two decimals. The first is the default.
func currencies() []string {
	return []string{"EUR", "USD", "GBP", "SEK", "INR", "CNY"}
}

// paymentMethods lists the methods on offer. The first is the default.
func paymentMethods() []string {
	return []string{"bank transfer", "card", "cash"}
}

func checkCurrency(code string) error {
	if !slices.Contains(currencies(), code) {
		return errCurrencyUnknown
	}
	return nil
}

func checkMethod(method string) error {
	if !slices.Contains(paymentMethods(), method) {
		return errMethodUnknown
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return errNameMissing
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errNameControl
	case utf8.RuneCountInString(name) > maxNameChars:
		return errNameTooLong
	}
	return nil
}

func checkEmail(address string) error {
	if address == "" {
		return errEmailMissing
	}
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > maxEmailBytes {
		return errEmailShape
	}
	return nil
}

func checkNote(note string) error {
	hidden := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	switch {
	case !utf8.ValidString(note) || strings.ContainsFunc(note, hidden):
		return errNoteText
	case utf8.RuneCountInString(note) > maxNoteChars:
		return errNoteTooLong
	}
	return nil
}

// tidyNote unifies line ends, as browsers send CR LF, and trims the edges.
func tidyNote(note string) string {
	return strings.TrimSpace(strings.ReplaceAll(note, "\r\n", "\n"))
}
