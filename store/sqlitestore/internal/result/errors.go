package result

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Translate gives an error of the driver to the caller: which act failed on
// which file, and what to do. A full file becomes [semel.ErrFull]; the rest
// wraps none of the contract's sentinels: whether the step was taken is unknown.
func Translate(pkg, file, act string, err error) error {
	code := Code(err)
	text := Hint(code)
	err = dialect.Discreet(err)
	switch Primary(code) {
	case ReadOnly, CantOpen, permission, Auth, NotADB, Corrupt:
		err = verb.Refused(err)
	}
	switch {
	case Primary(code) == Full || Primary(code) == TooBig:
		return fmt.Errorf("%w: %s: %s: %s: %w (%s)", semel.ErrFull, pkg, act, file, err, text)
	case text != "":
		return fmt.Errorf("%s: %s: %s: %w (%s)", pkg, act, file, err, text)
	}
	return fmt.Errorf("%s: %s: %s: %w", pkg, act, file, err)
}

// IsBusy reports whether another connection held the lock.
func IsBusy(err error) bool {
	primary := Primary(Code(err))
	return primary == Busy || primary == Locked
}

// IsStale reports whether the transaction reads rows that others have
// overwritten since, so that it can never write.
func IsStale(err error) bool { return Code(err) == BusySnapshot }

// ErrScarce refuses a step that needs room, on a disk that is full. Nothing of it was written.
var ErrScarce = fmt.Errorf("%w: the disk is full, and what is left is for settling held claims (free space on the disk; the store goes on as soon as there is room)",
	semel.ErrFull)

// IsAnswer reports whether a step's error is one that the contract defines,
// after which the transaction goes on.
func IsAnswer(err error) bool {
	return errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrSettled) || errors.Is(err, ErrScarce)
}

// Code returns SQLite's result code in a chain of errors; 0 when there is none.
func Code(err error) int {
	for err != nil {
		if code := ownCode(err); code != 0 {
			return code
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range many.Unwrap() {
				if code := Code(one); code != 0 {
					return code
				}
			}
			return 0
		}
		err = errors.Unwrap(err)
	}
	return 0
}

// ownCode returns the code of one error, which the drivers expose as a method
// Code (modernc), a method ExtendedCode (ncruces) or a field ExtendedCode
// (mattn). Errors of unrelated packages may have the same and are left alone.
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
