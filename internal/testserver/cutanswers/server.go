// Package cutanswers serves answers that break off, for the tests of every client: those of testdata/vectors/answers.json, at
// /NAME/CASE, where a test chooses the NAME. The first POST to an address gets the case's answer, and every later one a
// short and whole 201. A GET to the address returns the keys of the POSTs so far, as JSON.
//
// The servers speak through sockets of their own: an [net/http.Server] sends no broken answers.
package cutanswers

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/semel-dev/semel/web"
)

// Server is a pair of servers: one speaks HTTP/1.1, the other HTTP/2 with a certificate that no client trusts.
type Server struct {
	plain, secure net.Listener
	vectors       map[string]*Vector
	work          sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	keys  map[string][]string
	conns map[net.Conn]struct{}
	ended bool
}

// Start starts the servers on free ports. The caller closes them.
func Start(ctx context.Context, vectors []Vector) (*Server, error) {
	s := &Server{vectors: map[string]*Vector{}, keys: map[string][]string{}, conns: map[net.Conn]struct{}{}}
	for i := range vectors {
		s.vectors[vectors[i].Case] = &vectors[i]
	}
	certificate, err := newCertificate()
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	if s.plain, err = listen.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	secure, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, s.plain.Close())
	}
	s.secure = tls.NewListener(secure, &tls.Config{
		Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	})
	s.work.Go(func() { s.accept(s.plain, s.http1) })
	s.work.Go(func() { s.accept(s.secure, s.http2) })
	return s, nil
}

// URL is the address of a case: over TLS if it speaks HTTP/2.
func (s *Server) URL(name string, v *Vector) string {
	base := s.Plain()
	if v.Framing == "http2" {
		base = s.Secure()
	}
	return base + "/" + name + "/" + url.PathEscape(v.Case)
}

// Plain is the address of the server that speaks HTTP/1.1.
func (s *Server) Plain() string { return "http://" + s.plain.Addr().String() }

// Secure is the address of the server that speaks HTTP/2.
func (s *Server) Secure() string { return "https://" + s.secure.Addr().String() }

// Keys returns the keys of the POSTs to a case, in their order.
func (s *Server) Keys(name string, v *Vector) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys["/"+name+"/"+v.Case]
}

// Close ends every connection, and waits.
func (s *Server) Close() error {
	err := errors.Join(s.plain.Close(), s.secure.Close())
	s.mu.Lock()
	s.ended = true
	for conn := range s.conns {
		conn.Close() //nolint:errcheck // it ends.
	}
	s.mu.Unlock()
	s.work.Wait()
	return err
}

func (s *Server) accept(listener net.Listener, serve func(net.Conn)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if !s.keep(conn) {
			conn.Close() //nolint:errcheck // the server ends.
			return
		}
		s.work.Go(func() {
			serve(conn)
			conn.Close() //nolint:errcheck // it may be closed already.
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

func (s *Server) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[conn] = struct{}{}
	return !s.ended
}

// arrived returns the answer to a POST.
func (s *Server) arrived(address, key string) *Vector {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[address] = append(s.keys[address], key)
	if v := s.vectors[path.Base(address)]; v != nil && len(s.keys[address]) == 1 {
		return v
	}
	return &Vector{Status: http.StatusCreated, Framing: "length", Text: "again"}
}

// page returns what a GET gets: a script of web/dist, an empty page, or the keys of a case.
func (s *Server) page(address string) (media string, content []byte) {
	if strings.HasSuffix(address, ".js") {
		file, _ := web.File(path.Base(address))
		return "text/javascript", file.Content
	}
	if address == "/" {
		return "text/html", []byte(`<!doctype html><title>Answers</title><link rel="icon" href="data:,">`)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := append([]string{}, s.keys[address]...)
	content, _ = json.Marshal(keys) //nolint:errchkjson // they are strings
	return "application/json", content
}

func readRequest(in *bufio.Reader) (*http.Request, error) {
	req, err := http.ReadRequest(in)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return req, err
}
