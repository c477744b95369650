package dbguard_test

import "errors"

// is reports whether err holds an error of the type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
