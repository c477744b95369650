package invoices_test

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// palettes reads the colours of the light and the dark scheme out of the
// style sheet, as relative luminances.
func palettes(t *testing.T, css string) map[string]map[string]float64 {
	t.Helper()
	blocks := regexp.MustCompile(`:root \{([^}]*)\}`).FindAllStringSubmatch(css, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d palettes, want a light and a dark one", len(blocks))
	}
	found := map[string]map[string]float64{}
	for i, scheme := range []string{"light", "dark"} {
		found[scheme] = map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(blocks[i][1], -1) {
			found[scheme][m[1]] = luminance(t, m[2])
		}
		if len(found[scheme]) < 15 {
			t.Fatalf("%s: only %d colours found", scheme, len(found[scheme]))
		}
	}
	return found
}

// luminance is WCAG's relative luminance of an rrggbb colour.
func luminance(t *testing.T, rgb string) float64 {
	t.Helper()
	value, err := strconv.ParseUint(rgb, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(shift uint) float64 {
		c := float64(value>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(16) + 0.7152*linear(8) + 0.0722*linear(0)
}

// contrast is WCAG's contrast ratio of two luminances.
func contrast(a, b float64) float64 {
	return (math.Max(a, b) + 0.05) / (math.Min(a, b) + 0.05)
}
