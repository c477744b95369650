package redisstore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// rediss:// speaks TLS, and refuses a server whose certificate is not trusted.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	port := freePort(t)
	testserver.StartRedis(t, &testserver.RedisOptions{Conf: map[string]string{
		"tls-port": port, "tls-cert-file": cert, "tls-key-file": key, "tls-ca-cert-file": cert, "tls-auth-clients": "no",
	}})
	addr := net.JoinHostPort("127.0.0.1", port)
	s := open(t, "rediss://"+addr, &redisstore.Options{TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}})
	settles(t, s, wins(t, s, params("k")), completed("answer"))
	refused(t, "rediss://u:s3cr3t@"+addr, nil, "certificate")
	refused(t, "redis://u:s3cr3t@"+addr, nil, "connect to "+addr)
}

// certificate makes a certificate of this host that vouches for itself, in files that the server's user can read.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "semel-tls-") //nolint:usetesting // t.TempDir is closed to the users of servers.
	noError(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	keyDER, err2 := x509.MarshalPKCS8PrivateKey(private)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	err = errors.Join(err1, err2, os.Chmod(dir, 0o755), os.WriteFile(cert, certPEM, 0o644),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o644))
	noError(t, err)
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return cert, key, roots
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	noError(t, err)
	return port
}
