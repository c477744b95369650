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
	Round  time.Duration // of one measurement of one subject
	Rounds int           // measurements of each subject; the median counts
	Least  int           // operations in a measurement
	Dir    string        // for files; removed at the end
}

// section measures a few subjects against each other.
type section struct {
	Name string
	Run  func(context.Context, *settings) (*table, error)
}

func sections() []section {
	return []section{
		{Name: "middleware", Run: benchMiddleware},
		{Name: "files", Run: benchFiles},
		{Name: "gateway", Run: benchGateway},
		{Name: "gateway-shapes", Run: benchShapes},
		{Name: "overload", Run: benchOverload},
		{Name: "scale", Run: benchScale},
		{Name: "stores-postgres", Run: benchPostgres},
		{Name: "stores-mysql", Run: benchMySQL},
		{Name: "stores-redis", Run: benchRedis},
	}
}

// run measures the sections whose names match the flag -only, which is a regular expression, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var names []string
	for _, sec := range sections() {
		names = append(names, sec.Name)
	}
	only := flags.String("only", "^(middleware|files|gateway)$", "run the sections that match this expression: "+strings.Join(names, ", "))
	s := settings{Least: 64}
	flags.DurationVar(&s.Round, "round", 300*time.Millisecond, "length of one measurement")
	flags.IntVar(&s.Rounds, "rounds", 7, "measurements of each subject; the median counts")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		say(stderr, "bench: -only: %v\n", err)
		return 2
	}
	if s.Dir, err = os.MkdirTemp("", "semel-bench-"); err != nil {
		say(stderr, "bench: %v\n", err)
		return 3
	}
	defer func() {
		if err := os.RemoveAll(s.Dir); err != nil {
			say(stderr, "bench: %v\n", err)
		}
	}()
	say(stdout, "%s\n", machine())
	for _, sec := range sections() {
		if !match.MatchString(sec.Name) {
			continue
		}
		t, err := sec.Run(ctx, &s)
		if err != nil {
			say(stderr, "bench: %s: %v\n", sec.Name, err)
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
