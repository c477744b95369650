// Package retry has the shape of the library.
package retry

type Option any

func Do(f func() error, o ...Option) error { return f() }
func RetryIf(f func(error) bool) Option    { return nil }
func Unrecoverable(err error) error        { return err }
