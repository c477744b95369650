package semelhttp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/semelhttp"
)

// TestAnswersLikeBare: behind the door a handler's answer equals that of
// net/http alone, and so does its replay (promise 2).
func TestAnswersLikeBare(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "page.html")
	noError(t, os.WriteFile(file, []byte("<html><body>hello</body></html>"), 0o600))
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":        func(http.ResponseWriter, *http.Request) {},
		"implicit 200":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") },
		"header only":    func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", "b") },
		"sniffed":        func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!DOCTYPE html><p>hi") },
		"sniffed in two": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!DOC"); fmt.Fprint(w, "TYPE html><p>hi") },
		"not sniffed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, "<!DOCTYPE html><p>hi")
		},
		"twice": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, "ok")
		},
		"no content": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			_, err := w.Write([]byte("x"))
			if !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		},
		"not modified": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", `"a"`)
			w.WriteHeader(http.StatusNotModified)
			_, err := io.Copy(w, strings.NewReader("x"))
			if !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		},
		"content length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			fmt.Fprint(w, "hello")
		},
		"more than content length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			fmt.Fprint(w, "hello")
			for _, write := range []func() error{
				func() error { _, err := w.Write([]byte("!")); return err },
				func() error { _, err := io.WriteString(w, "!"); return err },
			} {
				if err := write(); !errors.Is(err, http.ErrContentLength) {
					panic(err)
				}
			}
		},
		"headers after WriteHeader": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", "before")
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-A", "after")
			w.Header().Add("X-B", "after")
			fmt.Fprint(w, "ok")
		},
		"values": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-Many"] = []string{"a", "", "c, d"}
			w.Header().Set("X-Empty", "")
			w.Header().Set("Vary", "Accept")
			http.Redirect(w, newAsk(t, "http://a/", ""), "/there?a=b#c", http.StatusSeeOther) //nolint:contextcheck // the target does not count.
		},
		"error page": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such customer", http.StatusNotFound) },
		"io.Copy": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, bytes.NewReader(make([]byte, 100_000)))
		},
		"io.Copy of a reader alone": func(w http.ResponseWriter, _ *http.Request) {
			n, err := io.Copy(w, struct{ io.Reader }{bytes.NewReader(make([]byte, 100_000))})
			if n != 100_000 || err != nil {
				panic(err)
			}
		},
		"a file": func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) },
		"declared trailers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum, x-count")
			fmt.Fprint(w, "ok")
			w.Header().Set("X-Sum", "42")
			w.Header().Add("X-Count", "1")
			w.Header().Add("X-Count", "2")
			w.Header().Set("X-Late", "no trailer")
		},
		"prefixed trailers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(http.TrailerPrefix+"X-Sum", "42")
			fmt.Fprint(w, "ok")
		},
		"large": func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				fmt.Fprint(w, strings.Repeat("0123456789", 500))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ask(t, newServer(t, handler), "k1", "x")
			d := newDoor(t, doorOptions{})
			server := d.serve(t, handler)
			first := ask(t, server, "k1", "x")
			if first.word() != "executed" {
				t.Errorf("first: got %q, want executed", first.word())
			}
			live := *first
			live.header = first.header.Clone()
			live.header.Del(semelhttp.StatusHeader)
			if vary := live.header["Vary"]; len(vary) > 0 && vary[len(vary)-1] == "Idempotency-Key" {
				if live.header["Vary"] = vary[:len(vary)-1]; len(vary) == 1 {
					delete(live.header, "Vary")
				}
			} else {
				t.Errorf("Vary: got %q, want the key's header at the end", vary)
			}
			live.header.Set("Date", want.header.Get("Date"))
			if diff := cmp.Diff(*want, live, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("behind the door (-bare +live):\n%s", diff)
			}
			wantReplay(t, first, ask(t, server, "k1", "x"))
		})
	}
}

// TestUndeclaredTrailers: they are known only after the body, and still arrive.
func TestUndeclaredTrailers(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "ok")
		w.Header().Set(http.TrailerPrefix+"X-Sum", "42")
		w.Header().Set(http.TrailerPrefix+"Set-Cookie", "session=1")
	})
	first := ask(t, server, "k1", "x")
	second := ask(t, server, "k1", "x")
	if got := first.trailer.Get("X-Sum"); got != "42" {
		t.Errorf("first: got the trailers %v, want X-Sum", first.trailer)
	}
	if diff := cmp.Diff(http.Header{"X-Sum": {"42"}}, second.trailer); diff != "" || second.body != "ok" {
		t.Errorf("promise 5: replayed trailers (-want +got):\n%s", diff)
	}
}

// TestInformational: 1xx answers go out at once, and are not the answer.
func TestInformational(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "ok")
	})
	var mu sync.Mutex
	var hints []string
	r := newAsk(t, server.URL+"/invoices", "x", "Idempotency-Key", "k1")
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			mu.Lock()
			defer mu.Unlock()
			hints = append(hints, strconv.Itoa(code)+" "+header.Get("Link"))
			return nil
		},
	}))
	first := sendAsk(t, server, r)
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"103 </style.css>; rel=preload"}, hints); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
	if first.status != http.StatusCreated || first.body != "ok" {
		t.Errorf("got %d %q, want 201 ok", first.status, first.body)
	}
	wantReplay(t, first, ask(t, server, "k1", "x"))
}

// TestResponseController: deadlines and full duplex reach the connection.
func TestResponseController(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		for name, err := range map[string]error{
			"SetReadDeadline":  control.SetReadDeadline(time.Now().Add(time.Minute)),
			"SetWriteDeadline": control.SetWriteDeadline(time.Now().Add(time.Minute)),
			"EnableFullDuplex": control.EnableFullDuplex(),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, ok := w.(http.Pusher); ok {
			t.Error("the writer promises a server push")
		}
	})
	ask(t, server, "k1", "x")
}

// TestLateWrites: a handler that left a goroutine behind cannot reach the next
// request's memory.
func TestLateWrites(t *testing.T) {
	t.Parallel()
	var writer http.ResponseWriter
	var body io.Reader
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) { writer, body = w, r.Body })
	ask(t, server, "k1", "x")
	if _, err := writer.Write([]byte("late")); err == nil {
		t.Error("a late write was taken")
	}
	if _, err := io.Copy(writer, strings.NewReader("late")); err == nil {
		t.Error("a late copy was taken")
	}
	if err := http.NewResponseController(writer).Flush(); err == nil {
		t.Error("a late flush was taken")
	}
	if _, _, err := http.NewResponseController(writer).Hijack(); err == nil {
		t.Error("a late hijack was taken")
	}
	if _, err := body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("a late read: %v", err)
	}
	writer.WriteHeader(http.StatusTeapot)
}

// TestHTTP2: the same over HTTP/2, trailers included.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := newTLSServer(t, d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("got HTTP/%d, want 2", r.ProtoMajor)
		}
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("hijack: got %v, want that it is not supported", err)
		}
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("X-Sum", "42")
	})))
	first := ask(t, server, "k1", "hello")
	if first.status != http.StatusCreated || first.body != "hello" || first.trailer.Get("X-Sum") != "42" {
		t.Errorf("got %d %q %v, want 201 hello and the trailer", first.status, first.body, first.trailer)
	}
	wantReplay(t, first, ask(t, server, "k1", "hello"))
}

// TestShorterThanDeclared: a broken answer is not replayed as if it were whole.
func TestShorterThanDeclared(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		invoices.ran.Add(1)
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "hello")
	})
	if first := ask(t, server, "k1", "x"); !errors.Is(first.err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the broken answer that net/http makes of it", first.err)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "response-not-kept")
	invoices.wantRan(t, "promise 3", 1)
}

// TestBufferedFlush: where Flush waits, an answer that was flushed is kept.
func TestBufferedFlush(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{Options: semelhttp.Options{BufferFlush: true}})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		flusher, ok := w.(http.Flusher)
		if !ok {
			t.Error("the writer does not implement Flusher")
			return
		}
		fmt.Fprint(w, "a")
		flusher.Flush()
		fmt.Fprint(w, "b")
	})
	first := ask(t, server, "k1", "x")
	wantReplay(t, first, ask(t, server, "k1", "x"))
	if first.body != "ab" {
		t.Errorf("got %q, want ab", first.body)
	}
}
