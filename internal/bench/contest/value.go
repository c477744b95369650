package contest

import (
	"fmt"
	"math"
	"slices"
)

// Value is a quantity that was measured in several rounds: the median, and half
// the distance between the quartiles.
type Value struct{ Median, Spread float64 }

// ValueOf returns the median and the spread of the rounds, of which there is at
// least one.
func ValueOf(rounds []float64) Value {
	v := slices.Sorted(slices.Values(rounds))
	return Value{Median: v[len(v)/2], Spread: (v[len(v)*3/4] - v[len(v)/4]) / 2}
}

// Ratio returns the ratio of one measurement to another. It compares them round
// by round, because what disturbs a round disturbs both.
func Ratio(of, to []float64) Value {
	ratios := make([]float64, len(of))
	for i := range ratios {
		ratios[i] = of[i] / to[i]
	}
	return ValueOf(ratios)
}

// AtLeast returns the verdict on an aim that the value is to reach.
func (v Value) AtLeast(aim float64) Verdict { return v.verdict(aim, v.Median >= aim) }

// AtMost returns the verdict on an aim that the value is not to exceed.
func (v Value) AtMost(aim float64) Verdict { return v.verdict(aim, v.Median <= aim) }

// verdict refuses to decide what another run may well decide otherwise.
func (v Value) verdict(aim float64, ok bool) Verdict {
	if math.Abs(v.Median-aim) < v.Spread {
		return unclear
	}
	return VerdictOf(ok)
}

// String writes a ratio for people.
func (v Value) String() string { return fmt.Sprintf("%.2f ± %.2f", v.Median, v.Spread) }
