package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/examples/internal/program/programtest"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shop.db")
	var made, sums bytes.Buffer
	if err := run(t.Context(), []string{"-history", file}, &made, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-sums", file}, &sums, io.Discard); err != nil || sums.String() != made.String() || !strings.Contains(sums.String(), "83 customers, 40 of them duplicates\n") {
		t.Errorf("the sums are %q, %v, and were %q", sums.String(), err, made.String())
	}
	programtest.Refuses(
		t, run,
		programtest.Refusal{Name: "nothing", Usage: true, Want: "name one of"},
		programtest.Refusal{Name: "file", Args: []string{"-history", file}, Want: "choose another name"},
	)
}
