package tallybook

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
	maxReference  = 64
	maxEmailBytes = 254 // RFC 5321: the longest address that fits a path
)

// FieldError is one thing wrong with one field, in words for its author.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	// Lang is the language of Message; empty for that of the page.
	Lang string `json:"-"`
}

// FieldErrors is everything wrong with a form, in the order of its fields.
type FieldErrors []FieldError

// Error implements error.
func (e FieldErrors) Error() string {
	messages := make([]string, len(e))
	for i, f := range e {
		messages[i] = f.Field + ": " + f.Message
	}
	return strings.Join(messages, "; ")
}

// On returns what is wrong with the named field, or nil. Templates call it.
func (e FieldErrors) On(field string) *FieldError {
	for i := range e {
		if e[i].Field == field {
			return &e[i]
		}
	}
	return nil
}

// Add appends err, if any, as the trouble with field.
func (e FieldErrors) Add(field string, err error) FieldErrors {
	if err == nil {
		return e
	}
	return append(e, FieldError{Field: field, Message: err.Error()})
}

// OrNil is e as an error: nil when nothing is wrong.
func (e FieldErrors) OrNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// ErrCustomerUnknown means that no customer has the id that a draft names.
var ErrCustomerUnknown = errors.New("choose a customer from the list")

var (
	errNameMissing     = errors.New("enter a name")
	errNameTooLong     = errors.New("the name must be at most 120 characters")
	errNameControl     = errors.New("the name must be one line of readable text")
	errEmailMissing    = errors.New("enter an e-mail address")
	errEmailShape      = errors.New("enter an e-mail address such as name@example.com")
	errCurrencyUnknown = errors.New("choose a currency from the list")
	errMethodUnknown   = errors.New("choose a payment method from the list")
	errNoteTooLong     = errors.New("the note must be at most 2000 characters")
	errReference       = errors.New("the reference must be one line of at most 64 characters")
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

// checkReference takes what a bank may call a payment, or nothing.
func checkReference(reference string) error {
	if utf8.RuneCountInString(reference) > maxReference || !utf8.ValidString(reference) || strings.ContainsFunc(reference, unicode.IsControl) {
		return errReference
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
