package claimtest

import (
	"context"
	"errors"
)

// Work has an effect, once behind a door.
type Work = func(context.Context) error

// Layer is a middleware of other people, around the work or around Semel's middleware.
type Layer func(ctx context.Context, work Work) error

// Do does the work within the layer, or alone where there is none.
func (l Layer) Do(ctx context.Context, work Work) error {
	if l == nil {
		return work(ctx)
	}
	return l(ctx, work)
}

// Layered is work with a layer on either side of the middleware of a job runner.
type Layered struct {
	Outside, Inside Layer
	Work            Work
	// Effects counts what the work does when the runner gives it out twice, and Unknown says whether its outcome is then
	// unknown. Otherwise it failed twice, with the word "declined".
	Effects int
	Unknown bool
}

// Layers are every order of a runner's middleware and a layer.
func Layers() map[string]Layered {
	panics := func(context.Context) error { panic("after the effect") } //nolint:forbidigo // the panic is tried.
	fails := func(context.Context) error { return errors.New("card declined") }
	return map[string]Layered{
		"no-layer":         {nil, nil, panics, 1, true},
		"recovery-outside": {recovers, nil, panics, 1, true},
		"recovery-inside":  {nil, recovers, panics, 1, true},
		"time-out-outside": {limits, nil, Overruns, 1, true},
		"time-out-inside":  {nil, limits, Overruns, 1, true},
		"retry-outside":    {repeats, recovers, panics, 1, true},
		"retry-inside":     {nil, repeats, fails, 6, false},
	}
}

// panicError holds a panic that a layer recovered.
type panicError struct{ value any }

func (*panicError) Error() string { return "the work panicked" }

func recovers(ctx context.Context, work Work) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p}
		}
	}()
	return work(ctx)
}

func limits(ctx context.Context, work Work) error {
	ctx, cancel := WithTimeUp(ctx)
	defer cancel()
	return work(ctx)
}

func repeats(ctx context.Context, work Work) (err error) {
	for range 3 {
		if err = work(ctx); err == nil {
			break
		}
	}
	return err
}

// timeUp is the key of a function in a context that ends it, as a time-out does.
type timeUp struct{}

// WithTimeUp returns a context whose time is up when the work says so by [TimeIsUp].
func WithTimeUp(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, timeUp{}, func() { cancel(context.DeadlineExceeded) }), func() { cancel(nil) }
}

// TimeIsUp ends the time of the layer around the work.
func TimeIsUp(ctx context.Context) {
	end, _ := ctx.Value(timeUp{}).(func())
	end()
}

// Overruns works until its time is up.
func Overruns(ctx context.Context) error {
	TimeIsUp(ctx)
	<-ctx.Done()
	return context.Cause(ctx)
}
