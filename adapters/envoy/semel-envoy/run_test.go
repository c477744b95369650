package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/semel-dev/semel/internal/claimtest"
)

// The program serves Envoy until its context ends, and then exits with 0.
func TestServes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"--listen", "127.0.0.1:0", "--store", "memory:"}, w, func(string) string { return "" })
	}()
	line := make([]byte, 4<<10)
	address := ""
	for address == "" {
		n, err := r.Read(line)
		claimtest.NoError(t, err)
		if _, said, ok := strings.Cut(string(line[:n]), "address="); ok {
			address = strings.TrimSpace(said)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	claimtest.NoError(t, err)
	got, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("got %v %v", got, err)
	}
	claimtest.NoError(t, conn.Close())
	cancel()
	if got := <-ended; got != 0 {
		t.Errorf("exit code %d", got)
	}
	claimtest.NoError(t, w.Close())
}

// Errors name the problem, and have the exit codes of semel.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "semel.yaml")
	claimtest.NoError(t, os.WriteFile(file, []byte("version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    form: true\n"), 0o600))
	for arguments, want := range map[string]struct {
		code int
		says string
	}{
		"--help":                             {0, "address for Envoy"},
		"--rule a":                           {2, "not defined: -rule"},
		"extra":                              {2, `unknown argument "extra"`},
		"--store memory: --rules none.yaml":  {2, "none.yaml"},
		"--store memory: --rules " + file:    {2, "protects a form"},
		"--store sqlite:/none/such/semel.db": {3, "semel.db"},
		"--store memory: --listen here":      {3, "here"},
	} {
		var said strings.Builder
		if got := run(t.Context(), strings.Fields(arguments), &said, func(string) string { return "" }); got != want.code || !strings.Contains(said.String(), want.says) {
			t.Errorf("%s: got %d, want %d and %q:\n%s", arguments, got, want.code, want.says, said.String())
		}
	}
}
