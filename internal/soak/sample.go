package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The columns of a sample, each of which may grow.
const (
	memory = iota // MiB, of all gateways
	goroutines
	descriptors
	files // MiB, of the store
	columns
)

func titles() [columns]string {
	return [columns]string{"memory of the gateways, MiB", "goroutines", "descriptors", "files of the store, MiB"}
}

// sample holds what was seen at one instant. A value is negative where a gateway was down.
type sample struct {
	at     time.Duration
	values [columns]float64
	served int64
}

func (s sample) String() string {
	return fmt.Sprintf("%d requests, %.0f MiB of memory, %.0f goroutines, %.0f descriptors, %.0f MiB of files",
		s.served, s.values[memory], s.values[goroutines], s.values[descriptors], s.values[files])
}

// series are the samples of a run.
type series struct {
	store string
	rate  float64
	all   []sample
}

func (s *series) add(one sample) { s.all = append(s.all, one) }

func (s *series) csv() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	names := titles()
	_ = w.Write(append([]string{"seconds", "requests"}, names[:]...)) // to memory
	for _, one := range s.all {
		row := []string{strconv.Itoa(int(one.at.Seconds())), strconv.FormatInt(one.served, 10)}
		for _, v := range one.values {
			row = append(row, strconv.FormatFloat(v, 'f', 1, 64))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return out.Bytes()
}

// sample asks the system and the gateways.
func (st *stage) sample(ctx context.Context, at time.Duration, c *crowd) sample {
	found := sample{at: at, served: c.served.Load()}
	for _, g := range st.gateways {
		seen, err := g.sample(ctx)
		if err != nil { // it is being restarted
			seen = [columns]float64{-1 << 20, -1 << 20, -1 << 20}
		}
		for i := range columns {
			found.values[i] += seen[i]
		}
	}
	found.values[files] = mib(size(st.files))
	return found
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// sample reads the numbers of one process.
func (g *gateway) sample(ctx context.Context) (seen [columns]float64, err error) {
	page, err := g.get(ctx, "/metrics")
	if err != nil {
		return seen, err
	}
	for line := range strings.Lines(page) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue // a comment
		}
		switch name {
		case "process_resident_memory_bytes":
			seen[memory] = mib(int64(n))
		case "go_goroutines":
			seen[goroutines] = n
		case "process_open_fds":
			seen[descriptors] = n
		}
	}
	if seen[memory] == 0 || seen[goroutines] == 0 || seen[descriptors] == 0 {
		return seen, errors.New("the gateway's metrics lack memory, goroutines or descriptors")
	}
	return seen, nil
}

// get returns a page of the admin address.
func (g *gateway) get(ctx context.Context, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.admin+path, nil)
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

// size returns how long the files below a folder are together. A server
// removes files meanwhile, which count nothing.
func size(folder string) (bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // a file that has gone.
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
