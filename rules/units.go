package rules

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// duration reads a time span with a unit, from least to most.
func (r *reader) duration(n ast.Node, what string, least, most time.Duration) time.Duration {
	const fix = `write a number and a unit, such as "10s", "5m", "24h" or "3d"`
	value, ok := yamlfile.Literal(n)
	if !ok {
		r.Report(yamlfile.At(n), fix, "%s is %s", what, yamlfile.Describe(n))
		return 0
	}
	d, ok := parseDuration(value)
	switch {
	case !ok:
		r.Report(yamlfile.At(n), fix, "%s is %s, which is not a time span", what, yamlfile.Describe(n))
		return 0
	case d < least || d > most:
		r.Report(yamlfile.At(n), "choose a span from "+least.String()+" to "+most.String(), "%s is %s", what, d)
		return 0
	}
	return d.Truncate(time.Millisecond)
}

// parseDuration is time.ParseDuration with days.
func parseDuration(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// size reads a number of bytes with a unit, from 1 to most.
func (r *reader) size(n ast.Node, what string, most int64) int64 {
	const fix = `write a whole number and a unit, such as "64KiB", "1MiB" or "2GB"`
	value, ok := yamlfile.Literal(n)
	if !ok {
		r.Report(yamlfile.At(n), fix, "%s is %s", what, yamlfile.Describe(n))
		return 0
	}
	bytes, ok := parseSize(value)
	switch {
	case !ok:
		r.Report(yamlfile.At(n), fix, "%s is %s, which is not a size", what, yamlfile.Describe(n))
		return 0
	case bytes < 1 || bytes > most:
		r.Report(yamlfile.At(n), "choose a size from 1B to "+formatSize(most), "%s is %s", what, yamlfile.Describe(n))
		return 0
	}
	return bytes
}

type sizeUnit struct {
	suffix string
	bytes  int64
}

// sizeUnits lists the longer suffixes first.
func sizeUnits() []sizeUnit {
	return []sizeUnit{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"KB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"B", 1},
	}
}

func parseSize(s string) (int64, bool) {
	for _, unit := range sizeUnits() {
		digits, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit.bytes {
			return 0, false
		}
		return n * unit.bytes, true
	}
	return 0, false
}

func formatSize(bytes int64) string {
	for _, unit := range []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes >= unit.bytes && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(bytes, 10) + "B"
}
