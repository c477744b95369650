package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel/internal/lease"
)

var errLost = errors.New("lost")

// A life ends once, with its first cause, for those who asked before and those who ask later.
func TestLife(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		var l lease.Life
		var child context.Context
		if asked {
			var cancel context.CancelFunc
			child, cancel = context.WithCancel(&l)
			defer cancel()
		}
		if l.Err() != nil {
			t.Errorf("asked %v: it begins with %v", asked, l.Err())
		}
		l.End(errLost)
		l.End(context.DeadlineExceeded)
		if l.Err() != context.Canceled || context.Cause(&l) != errLost { //nolint:errorlint // exactly these.
			t.Errorf("asked %v: got %v because of %v, want the end and its first cause", asked, l.Err(), context.Cause(&l))
		}
		select {
		case <-l.Done():
		default:
			t.Errorf("asked %v: it has ended, and goes on", asked)
		}
		if child != nil && context.Cause(child) != errLost { //nolint:errorlint // exactly this.
			t.Errorf("a child ended with %v, want %v", context.Cause(child), errLost)
		}
	}
}

// One timer beats for many clocks, each at its own time, however often they are set anew.
func TestBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const clocks = 100
		began := time.Now()
		var beats lease.Beats
		all := make([]*lease.Clock[int], clocks)
		heard := make(chan string, 3*clocks)
		for i := range all {
			c := &lease.Clock[int]{Began: began, Lease: time.Hour, MaxRun: time.Hour}
			all[i] = c
			c.Start(&beats, time.Duration(3*(i*37%clocks+1))*time.Second, beater(func() {
				heard <- fmt.Sprint(i, time.Since(began))
			}))
		}
		var want []string
		for i, c := range all {
			at := time.Duration(i*37%clocks+1) * time.Second
			switch i % 3 {
			case 0:
				c.Settle(time.Second / 2) // sooner than all others
				at = time.Second / 2
			case 1:
				c.Stop()
				continue
			}
			want = append(want, fmt.Sprint(i, at))
		}
		beats.Rest() // which stops nothing that is needed
		time.Sleep(2 * clocks * time.Second)
		synctest.Wait()
		close(heard)
		var got []string
		for one := range heard {
			got = append(got, one)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("it beat at %v, want %v", got, want)
		}
	})
}
