// Package must stops the program when an invariant is broken.
//
// An invariant is a fact that only a bug in this module can make false: no caller, network, disk or configuration
// can. Everything else is an error and is returned. This is the one package that calls panic, so a stack trace
// that ends here shows at once that the fault is ours.
//
// Every floor may use it; it imports the standard library only.
package must

import "fmt"

// InvariantError is the value of the panic. It is an error so that a recovering handler can log it like one.
type InvariantError struct {
	// Invariant is the sentence that should have been true.
	Invariant string
	// Cause is the error that shows it is not, or nil.
	Cause error
}

// Error names the broken invariant, then its cause.
func (e *InvariantError) Error() string {
	if e.Cause == nil {
		return "broken invariant: " + e.Invariant
	}
	return "broken invariant: " + e.Invariant + ": " + e.Cause.Error()
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *InvariantError) Unwrap() error { return e.Cause }

// Hold panics with a [*InvariantError] unless ok. The format states what should be true: "fence %d is not zero". It is
// formatted only when the invariant is broken, but its arguments are evaluated always: keep them cheap.
func Hold(ok bool, format string, args ...any) {
	if !ok {
		panic(&InvariantError{Invariant: fmt.Sprintf(format, args...)})
	}
}

// Succeed panics with a [*InvariantError] that wraps err unless err is nil. It is for calls that cannot fail by
// construction, such as writing to a hash or parsing an embedded file.
func Succeed(err error, format string, args ...any) {
	if err != nil {
		panic(&InvariantError{Invariant: fmt.Sprintf(format, args...), Cause: err})
	}
}

// Get returns v, or panics as [Succeed] does. The invariant of such a call is that it has no error:
//
//	page := must.Get(template.ParseFS(files, "page.html"))
func Get[T any](v T, err error) T {
	Succeed(err, "%T has no error", v)
	return v
}
