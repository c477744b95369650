package sqlitetx

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

var (
	// errBusy: the write lock of the file was not to be had in time.
	errBusy = errors.New("the file is locked for writing by another transaction")
	// errQueue: nor was the seat of this process, which others have.
	errQueue = errors.New("other transactions of this process keep the only writer of the file busy")
	// errTwin: and one of those works on the same intent.
	errTwin = errors.New("another transaction of this process works on it")
)

// translate gives an error of the driver to the caller: which act met it, and
// what to do. A full file becomes [semel.ErrFull]; the rest wraps none of the
// contract's sentinels, which means that nobody can tell whether the step was
// taken.
func (s *Store) translate(act string, err error) error {
	return translate(s.name, act, err)
}

func translate(name, act string, err error) error {
	code := codeOf(err)
	if isFull(err) {
		return fmt.Errorf("%w: sqlitetx: %s: %s: %w (%s)", semel.ErrFull, act, name, err, result.Hint(code))
	}
	if h := result.Hint(code); h != "" {
		return fmt.Errorf("sqlitetx: %s: %s: %w (%s)", act, name, err, h)
	}
	return fmt.Errorf("sqlitetx: %s: %s: %w", act, name, err)
}

func isFull(err error) bool {
	primary := result.Primary(codeOf(err))
	return primary == result.Full || primary == result.TooBig
}

// isBusy reports whether another transaction was in the way.
func isBusy(err error) bool {
	primary := result.Primary(codeOf(err))
	return primary == result.Busy || primary == result.Locked
}

// isStale reports whether the transaction reads what others have overwritten
// meanwhile, so that it can never write.
func isStale(err error) bool { return codeOf(err) == result.BusySnapshot }

// codeOf finds SQLite's result code in a chain of errors; 0 when there is none.
func codeOf(err error) int {
	for err != nil {
		if code := ownCode(err); code != 0 {
			return code
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range many.Unwrap() {
				if code := codeOf(one); code != 0 {
					return code
				}
			}
			return 0
		}
		err = errors.Unwrap(err)
	}
	return 0
}

// ownCode is the code of one error, as the drivers show it: by a method Code
// (modernc), a method ExtendedCode (ncruces) or a field ExtendedCode (mattn).
// Errors of packages that have nothing to do with SQLite may have the like,
// and are left alone.
func ownCode(err error) int {
	of := reflect.TypeOf(err)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if !strings.Contains(of.PkgPath(), "sqlite") {
		return 0
	}
	v := reflect.ValueOf(err)
	if code := returned(v.MethodByName("ExtendedCode")); code != 0 {
		return code
	}
	if code := returned(v.MethodByName("Code")); code != 0 {
		return code
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return 0
	}
	return whole(v.FieldByName("ExtendedCode"))
}

// returned calls a method that takes nothing and returns one number.
func returned(method reflect.Value) int {
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return 0
	}
	return whole(method.Call(nil)[0])
}

func whole(v reflect.Value) int {
	switch {
	case !v.IsValid():
		return 0
	case v.CanInt():
		return int(v.Int())
	case v.CanUint():
		return int(v.Uint()) //nolint:gosec // result codes are small.
	}
	return 0
}
