package main

import "testing"

func TestVerdictsOfRatios(t *testing.T) {
	t.Parallel()
	bare := []float64{100, 200, 100, 100, 400} // two rounds were disturbed
	for _, test := range []struct {
		name   string
		own    []float64
		aim    float64
		least  verdict
		most   verdict
		median float64
	}{
		{"twice as fast in each round", []float64{50, 100, 50, 50, 200}, 1.5, verdictOf(true), verdictOf(false), 2},
		{"the aim itself", []float64{50, 100, 50, 50, 200}, 2, verdictOf(true), verdictOf(true), 2},
		{"slower", []float64{200, 400, 200, 200, 800}, 1, verdictOf(false), verdictOf(true), 0.5},
		{"an aim within the spread", []float64{50, 50, 100, 60, 400}, 1.5, "unclear", "unclear", 100.0 / 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ratioOf(bare, test.own)
			if got.Median != test.median {
				t.Errorf("the median is %v, want %v", got.Median, test.median)
			}
			if v := got.AtLeast(test.aim); v != test.least {
				t.Errorf("%v is at least %v: %q, want %q", got, test.aim, v, test.least)
			}
			if v := got.AtMost(test.aim); v != test.most {
				t.Errorf("%v is at most %v: %q, want %q", got, test.aim, v, test.most)
			}
		})
	}
}
