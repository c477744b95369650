package tallybook

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAmount(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want int64
		err  error
	}{
		{"1250.50", 125050, nil},
		{"1 250,50", 125050, nil},
		{"1\u00a0250,5", 125050, nil},
		{"1\u202f234\u2009567", 123456700, nil},
		{" 7 ", 700, nil},
		{"007", 700, nil},
		{"0.01", 1, nil},
		{"1000000000", 100000000000, nil},
		{"1000000000.01", 100000000001, errAmountTooLarge},
		{"99999999999999999999999", 0, errAmountTooLarge},
		{"00000000000000000000000000000000001", 0, errAmountTooLarge},
		{"", 0, errAmountMissing},
		{"   ", 0, errAmountMissing},
		{"0", 0, errAmountPositive},
		{"-0", 0, errAmountPositive},
		{"-12.50", 0, errAmountPositive},
		{"1,250", 0, errAmountShape},
		{"1.250,50", 0, errAmountShape},
		{"1,250.50", 0, errAmountShape},
		{"1.", 0, errAmountShape},
		{".5", 0, errAmountShape},
		{"1 25", 0, errAmountShape},
		{"1250 000", 0, errAmountShape},
		{"1 250 ,5", 0, errAmountShape},
		{"1  250", 0, errAmountShape},
		{"1e3", 0, errAmountShape},
		{"+5", 0, errAmountShape},
		{"--5", 0, errAmountShape},
		{"0x10", 0, errAmountShape},
		{"1_000", 0, errAmountShape},
		{"١٢", 0, errAmountShape},
		{"12€", 0, errAmountShape},
	}
	for _, tt := range tests {
		got, err := parseAmount(tt.text)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("parseAmount(%q) = %d, %v; want %d, %v", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func TestFormatAmount(t *testing.T) {
	t.Parallel()
	for cents, want := range map[int64]string{
		0:             "0.00",
		5:             "0.05",
		99999:         "999.99",
		100000:        "1\u00a0000.00",
		-125050:       "\u22121\u00a0250.50",
		math.MinInt64: "\u221292\u00a0233\u00a0720\u00a0368\u00a0547\u00a0758.08",
	} {
		if got := formatAmount(cents); got != want {
			t.Errorf("formatAmount(%d) = %q, want %q", cents, got, want)
		}
	}
}

func TestAmountsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(1, maxAmountCents).Draw(t, "cents")
		if got, err := parseAmount(formatAmount(want)); got != want || err != nil {
			t.Fatalf("%d reads back as %d, %v", want, got, err)
		}
	})
}

func FuzzParseAmount(f *testing.F) {
	for _, seed := range []string{"1 250,50", "1250.50", "-1", "٣", "1\u00a0000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cents, err := parseAmount(text)
		if err == nil && (cents <= 0 || cents > maxAmountCents) {
			t.Errorf("parseAmount(%q) accepts %d", text, cents)
		}
	})
}
