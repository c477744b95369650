package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"
)

// ErrWrong says that the protected shop did something other than once.
var ErrWrong = errors.New("the protected shop did not do everything once")

// Compare breaks an order at each of the points, nil for all, in both fleets, prints
// what happened, and returns [ErrWrong] unless everything happened once in the protected one.
func Compare(ctx context.Context, naive, protected *Fleet, names []string, stdout, progress io.Writer) error {
	results := [2][]Result{}
	heard := make(chan string)
	g, playing := errgroup.WithContext(ctx)
	for i, f := range []*Fleet{naive, protected} {
		name := []string{"unprotected", "Semel"}[i]
		g.Go(func() error {
			return f.Play(playing, names, func(r Result) {
				results[i] = append(results[i], r)
				heard <- fmt.Sprintf("%-12s %2d  %s", name, len(results[i]), r.Point.Name)
			})
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Wait(); close(heard) }()
	for line := range heard {
		_, _ = fmt.Fprintln(progress, line) // progress is for people who wait
	}
	if err := <-ended; err != nil {
		return err
	}
	return report(stdout, results[0], results[1])
}

func report(w io.Writer, naive, protected []Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) } // Flush reports errors
	line("POINT", "WHAT HAPPENS", "UNPROTECTED", "SEMEL")
	var counted [2]Effects
	wrong := 0
	for i := range naive {
		for j, r := range []Result{naive[i], protected[i]} {
			for k, n := range counted[j].fields() {
				*n += r.Effects.List()[k]
			}
		}
		if !protected[i].Right() {
			wrong++
		}
		line(naive[i].Point.Name, naive[i].Point.What, naive[i].words(), protected[i].words())
	}
	line("")
	line("EFFECT", fmt.Sprintf("EXPECTED OF %d ORDERS", len(naive)), "UNPROTECTED", "SEMEL")
	for k, name := range effectNames() {
		line(name, fmt.Sprint(len(naive)), fmt.Sprint(counted[0].List()[k]), fmt.Sprint(counted[1].List()[k]))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%w at %d of %d points", ErrWrong, wrong, len(naive))
	}
	return nil
}

// words says what was different from once.
func (r *Result) words() string {
	var different []string
	for i, n := range r.Effects.List() {
		if n != 1 {
			different = append(different, fmt.Sprintf("%d %s", n, effectNames()[i]))
		}
	}
	if r.Err != "" {
		different = append(different, r.Err)
	}
	if !r.Reached {
		different = append(different, "the point was not reached")
	}
	if different == nil {
		return "all once"
	}
	return strings.Join(different, ", ")
}
