package proxies_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/claimtest"
)

// tlsMark is replaced by the file with the certificate and its key.
const tlsMark = "@certificate"

// caddyProgram is a Caddy that was built once for all tests, and certificateFile a certificate of this machine with its key (PEM).
var caddyProgram, certificateFile string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "semel-proxies-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	caddyProgram, certificateFile = filepath.Join(dir, "caddy"), filepath.Join(dir, "certificate.pem")
	if err := prepare(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// prepare fills a folder that every account may read: proxies run as their own.
func prepare(dir string) error {
	build := exec.CommandContext(context.Background(), "go", "build", "-o", caddyProgram, "./caddy")
	build.Dir = filepath.Join("..", "..", "..", "adapters", "caddy")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build Caddy: %w\n%s", err, text)
	}
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(certificateFile, certificate, 0o644), os.Chmod(dir, 0o755))
}

func selfSigned() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}

// trusting returns settings for TLS that trust the certificate, and servers can use it.
func trusting(t *testing.T) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certificateFile, certificateFile)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}
}

var must = claimtest.NoError
