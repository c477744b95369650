package main

import (
	"fmt"
	"math"
	"slices"
)

// value is a quantity that was measured in several rounds: the median, and half the distance between the quartiles.
type value struct{ Median, Spread float64 }

// valueOf returns the median and the spread of the rounds, of which there is at least one.
func valueOf(rounds []float64) value {
	v := slices.Sorted(slices.Values(rounds))
	return value{Median: v[len(v)/2], Spread: (v[len(v)*3/4] - v[len(v)/4]) / 2}
}

// ratioOf returns the ratio of one measurement to another. It compares them round
// by round, because what disturbs a round disturbs both.
func ratioOf(of, to []float64) value {
	ratios := make([]float64, len(of))
	for i := range ratios {
		ratios[i] = of[i] / to[i]
	}
	return valueOf(ratios)
}

// AtLeast returns the verdict on an aim that the value is to reach.
func (v value) AtLeast(aim float64) verdict { return v.verdict(aim, v.Median >= aim) }

// AtMost returns the verdict on an aim that the value is not to exceed.
func (v value) AtMost(aim float64) verdict { return v.verdict(aim, v.Median <= aim) }

// verdict refuses to decide what another run may well decide otherwise.
func (v value) verdict(aim float64, ok bool) verdict {
	if math.Abs(v.Median-aim) < v.Spread {
		return unclear
	}
	return verdictOf(ok)
}

// String writes a ratio for people.
func (v value) String() string { return fmt.Sprintf("%.2f ± %.2f", v.Median, v.Spread) }
