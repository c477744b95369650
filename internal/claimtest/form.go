package claimtest

import (
	"flag"
	"os"
	"strconv"

	"github.com/semel-dev/semel/internal/must"
)

// Long reports whether the long form of tests is wanted (SEMEL_LONG is set, to races as well), with variants of what other tests show.
func Long() bool { return os.Getenv("SEMEL_LONG") != "" }

// Times returns how often something is done in the short form, in the long one, and in make races (SEMEL_LONG=races).
func Times(short, long, races int) int {
	switch os.Getenv("SEMEL_LONG") {
	case "":
		return short
	case "races":
		return races
	}
	return long
}

// Limit sets how many tests of the package run at a time, because they wait for a server rather than for a processor, and how
// many random sequences of verbs each variant runs: four times as many in the long form. 0 leaves either alone. TestMain calls
// it before flags are parsed, so -parallel and -rapid.checks override it.
func Limit(parallel, sequences int) {
	if parallel > 0 {
		must.Succeed(flag.Set("test.parallel", strconv.Itoa(parallel)), "go test has -parallel")
	}
	if Long() {
		sequences *= 4
	}
	if sequences > 0 {
		must.Succeed(flag.Set("rapid.checks", strconv.Itoa(sequences)), "rapid has -rapid.checks")
	}
}
