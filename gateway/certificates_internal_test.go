package gateway

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel/internal/must"
)

// writePair writes a certificate that is valid until then, and its key.
func writePair(t *testing.T, dir string, until time.Time) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-time.Hour), NotAfter: until}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	for name, block := range map[string]*pem.Block{
		"cert": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "PRIVATE KEY", Bytes: must.Get(x509.MarshalPKCS8PrivateKey(key))},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificatesAreFollowed: the gateway follows its files unasked, and a certificate that has expired does not replace one that is valid for longer.
func TestCertificatesAreFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		begun := time.Now().Truncate(time.Second)
		writePair(t, dir, begun.Add(time.Hour))
		c := must.Get(openCertificates(&Config{CertFile: filepath.Join(dir, "cert"), KeyFile: filepath.Join(dir, "key"), Logger: slog.New(slog.DiscardHandler)}))
		ctx, stop := context.WithCancel(t.Context())
		asked := make(chan struct{})
		close(asked) // it is not asked any more
		var ended bool
		go func() {
			c.follow(ctx, asked)
			ended = true
		}()
		for _, step := range []struct{ file, served time.Duration }{{2 * time.Hour, 2 * time.Hour}, {-time.Hour, 2 * time.Hour}, {90 * time.Minute, 90 * time.Minute}} {
			writePair(t, dir, begun.Add(step.file))
			time.Sleep(certificatesEvery + time.Second)
			synctest.Wait()
			if got := c.held.Load().expires.Sub(begun); got != step.served {
				t.Errorf("the files' certificate expires after %v: one that expires after %v is served, want %v", step.file, got, step.served)
			}
			if c.stale() != (step.file < 0) {
				t.Errorf("the files' certificate expires after %v: stale is %v", step.file, c.stale())
			}
		}
		stop()
		synctest.Wait()
		if !ended {
			t.Error("follow goes on after its context ended")
		}
	})
}
