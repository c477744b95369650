// Package backoff has the shape of the library.
package backoff

type BackOff any

func NewExponentialBackOff() BackOff        { return nil }
func Retry(o func() error, b BackOff) error { return o() }
func Permanent(err error) error             { return err }
