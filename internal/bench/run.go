package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// settings hold the flags.
type settings struct {
	round  time.Duration // of one measurement of one subject
	rounds int           // measurements of each subject; the median counts
	least  int           // operations in a measurement
	dir    string        // for files; removed at the end
	log    io.Writer     // progress
}

// section measures a few subjects against each other.
type section struct {
	name string
	run  func(context.Context, *settings) (*table, error)
}

func sections() []section {
	return []section{
		{"middleware", benchMiddleware},
		{"sqlite", benchSQLite},
		{"gateway", benchGateway},
		{"overload", benchOverload},
		{"stores-postgres", benchPostgres},
		{"stores-mysql", benchMySQL},
		{"stores-redis", benchRedis},
		{"guards-postgres", benchGuardsPostgres},
		{"guards-mysql", benchGuardsMySQL},
		{"guards-sqlite", benchGuardsSQLite},
	}
}

// run measures the sections whose names match and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "^(middleware|sqlite|gateway)$", "run the sections that match this expression: middleware, sqlite, gateway, stores-postgres, stores-mysql, stores-redis, overload, guards-postgres, guards-mysql, guards-sqlite")
	s := settings{log: stderr, least: 64}
	flags.DurationVar(&s.round, "round", 300*time.Millisecond, "length of one measurement")
	flags.IntVar(&s.rounds, "rounds", 7, "measurements of each subject; the median counts")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		say(stderr, "bench: -only: %v\n", err)
		return 2
	}
	dir, err := os.MkdirTemp("", "semel-bench-")
	if err != nil {
		say(stderr, "bench: %v\n", err)
		return 3
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			say(stderr, "bench: %v\n", err)
		}
	}()
	s.dir = dir
	say(stdout, "%s\n", machine())
	for _, sec := range sections() {
		if !match.MatchString(sec.name) {
			continue
		}
		t, err := sec.run(ctx, &s)
		if err != nil {
			say(stderr, "bench: %s: %v\n", sec.name, err)
			return 3
		}
		t.print(stdout)
	}
	return 0
}

// machine says what this run can be compared with.
func machine() string {
	revision := "no revision"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, kv := range info.Settings {
			if kv.Key == "vcs.revision" {
				revision = kv.Value[:min(12, len(kv.Value))]
			}
		}
	}
	return fmt.Sprintf("%s · %s/%s · %s · %d CPUs (%s) · load %s · %s",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.GOOS, runtime.GOARCH, runtime.Version(),
		runtime.NumCPU(), cpuModel(), loadAverage(), revision)
}

// loadAverage returns the load of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	last, _, _ := strings.Cut(string(text), " ")
	return last
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown model"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown model"
}

// say writes to a terminal, which may have gone.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// shut closes what was only measured.
func shut(c io.Closer) { _ = c.Close() }
