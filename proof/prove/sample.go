package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const samples = 720 // of a scenario: one in 5 s for an hour

// The columns of a sample, each of which may grow.
const (
	memory = iota // MiB, of all gateways
	goroutines
	descriptors
	files // MiB, of the store
	columns
)

func titles() [columns]string {
	return [columns]string{"MiB of the gateways' memory", "goroutines", "descriptors", "MiB of the store's files"}
}

// sample holds what was seen at one instant. A value is not a number where a gateway was down.
type sample struct {
	at     time.Duration
	values [columns]float64
}

// series are the samples of a scenario.
type series []sample

// sample asks the system and the gateways until ctx ends.
func (s *soak) sample(ctx context.Context, long time.Duration) {
	for began := time.Now(); waiting.Sleep(ctx, max(long/samples, 100*time.Millisecond)); {
		found := sample{at: time.Since(began)}
		for _, admin := range s.admins {
			text, _ := page(ctx, admin, "/metrics") // empty while it is restarted
			for i, n := range readMetrics(text) {
				found.values[i] += n
			}
		}
		found.values[files] = float64(size(s.files)) / (1 << 20)
		s.series = append(s.series, found)
	}
}

// readMetrics returns the numbers of one process.
func readMetrics(text string) [columns]float64 {
	seen := [columns]float64{memory: math.NaN(), goroutines: math.NaN(), descriptors: math.NaN()}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseFloat(value, 64) // 0 in a comment
		switch name {
		case "process_resident_memory_bytes":
			seen[memory] = n / (1 << 20)
		case "go_goroutines":
			seen[goroutines] = n
		case "process_open_fds":
			seen[descriptors] = n
		}
	}
	return seen
}

// page returns a page of an admin address.
func page(ctx context.Context, admin, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+path, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", path, res.Status)
	}
	return string(body), nil
}

// size returns how long the files are together whose paths begin like this. A
// server removes files meanwhile, which count nothing, and keeps a binary log
// until it is purged.
func size(prefix string) (bytes int64) {
	roots, _ := filepath.Glob(prefix + "*") // the pattern is well-formed
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "binlog.") {
				return nil //nolint:nilerr // a file that has gone.
			}
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
			return nil
		})
	}
	return bytes
}

// write leaves the samples for a chart.
func (s series) write(name string) error {
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "seconds,%s\n", strings.Join(new(titles())[:], ",")) // to memory, like the rows
	for _, one := range s {
		_, _ = fmt.Fprintf(&out, "%.1f", one.at.Seconds())
		for _, v := range one.values {
			_, _ = fmt.Fprintf(&out, ",%.1f", v)
		}
		out.WriteString("\n")
	}
	return os.WriteFile(name, []byte(out.String()), 0o644) //nolint:gosec // for people.
}
