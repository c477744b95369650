// Package retry has the shape of the library.
package retry

import "context"

func Do(ctx context.Context, b any, f func(ctx context.Context) error) error { return f(ctx) }
func RetryableError(err error) error                                         { return err }
