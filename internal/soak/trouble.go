package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	deaths  = 30 // of the application in a run
	crashes = 10 // of the store's server
	away    = 2 * time.Second
	// rotations are over in the first quarter, so that processes then live
	// long enough to show what grows.
	rotations = 3
)

// trouble disturbs everything side by side until the time is over.
func (st *stage) trouble(ctx context.Context, long time.Duration, log io.Writer) error {
	errs := make([]error, 3)
	var all sync.WaitGroup
	all.Go(func() {
		for errs[0] == nil && waiting.Sleep(ctx, long/deaths) {
			errs[0] = st.app.die(ctx, away)
		}
	})
	if st.server != nil {
		all.Go(func() {
			for errs[1] == nil && waiting.Sleep(ctx, long/crashes) {
				errs[1] = st.crash(ctx)
			}
		})
	}
	all.Go(func() {
		for step := 1; errs[2] == nil && step <= rotations && waiting.Sleep(ctx, long/(4*rotations)); step++ {
			_, _ = fmt.Fprintf(log, "step %d of replacing the secrets\n", step)
			errs[2] = st.rotate(ctx, step)
		}
	})
	all.Wait()
	return errors.Join(errs...)
}

// crash kills the store's server and starts it again.
func (st *stage) crash(ctx context.Context) error {
	if err := st.server.Kill(); err != nil {
		return err
	}
	waiting.Sleep(ctx, away)
	return st.server.Start(context.WithoutCancel(ctx))
}

// rotate takes a step of replacing both secrets, on one gateway after the other.
func (st *stage) rotate(ctx context.Context, step int) error {
	if step == rotations && !waiting.Sleep(ctx, retention) {
		return nil // the records of the former secret must have gone before it goes
	}
	if err := st.writeSecrets(step); err != nil {
		return err
	}
	for i, g := range st.gateways {
		if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("end a gateway: %w", err)
		}
		if err := g.cmd.Wait(); err != nil {
			return fmt.Errorf("a gateway after SIGTERM: %w", err)
		}
		if err := g.up(context.WithoutCancel(ctx), st.logFile(i)); err != nil {
			return err
		}
	}
	return nil
}

func (st *stage) file(kind string) string { return filepath.Join(st.dir, kind+"-secrets") }

// writeSecrets writes the files of a step: the old ones, the old and the new, the
// new and the old, the new ones.
func (st *stage) writeSecrets(step int) error {
	lines := [][]int{{0}, {0, 1}, {1, 0}, {1}}[step]
	var digests, outcomes strings.Builder
	for _, i := range lines {
		_, _ = fmt.Fprintln(&digests, st.keys[i])
		_, _ = fmt.Fprintf(&outcomes, "k%d %s\n", i, st.keys[i])
	}
	return errors.Join(
		os.WriteFile(st.file("digest"), []byte(digests.String()), 0o600),
		os.WriteFile(st.file("outcome"), []byte(outcomes.String()), 0o600))
}

// newKey returns 32 random bytes in base64: a secret for digests, and with an id
// a key for outcomes.
func newKey() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}
