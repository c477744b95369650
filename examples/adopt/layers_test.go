package adopt_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/adopt"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// work has its effect and then ends in the way of a test. A handler that returns an error has a framework that takes one.
type work func(r *http.Request) error

func panics(*http.Request) error { panic("after the effect") }

func aborts(*http.Request) error { panic(http.ErrAbortHandler) }

func hangsUp(*http.Request) error { panic(syscall.EPIPE) }

func fails(*http.Request) error { return errors.New("the disk is full") }

func waits(r *http.Request) error {
	<-r.Context().Done()
	return r.Context().Err()
}

// chiOrder has the layer inside or outside of the door.
func chiOrder(layer func(http.Handler) http.Handler, inside bool) func(*semelhttp.Middleware, work) http.Handler {
	return func(door *semelhttp.Middleware, do work) http.Handler {
		router := chi.NewRouter()
		switch {
		case door == nil:
			router.Use(layer)
		case inside:
			router.Use(authorise, door.Handler, layer)
		default:
			router.Use(layer, authorise, door.Handler)
		}
		router.Post("/orders", func(w http.ResponseWriter, r *http.Request) {
			if err := do(r); err != nil {
				http.Error(w, "sorry", http.StatusInternalServerError)
			}
		})
		return router
	}
}

func ginOrder(layer gin.HandlerFunc, inside bool) func(*semelhttp.Middleware, work) http.Handler {
	return func(door *semelhttp.Middleware, do work) http.Handler {
		engine := gin.New()
		switch {
		case door == nil:
			engine.Use(layer)
		case inside:
			engine.Use(adopt.Gin(door), layer)
		default:
			engine.Use(layer, adopt.Gin(door))
		}
		engine.POST("/orders", func(c *gin.Context) {
			if err := do(c.Request); err != nil {
				c.String(http.StatusInternalServerError, "sorry")
			}
		})
		return authorise(engine)
	}
}

func echoOrder(layer echo.MiddlewareFunc, inside bool) func(*semelhttp.Middleware, work) http.Handler {
	return func(door *semelhttp.Middleware, do work) http.Handler {
		e := echo.New()
		e.Logger.SetOutput(io.Discard)
		switch {
		case door == nil:
			e.Use(layer)
		case inside:
			e.Use(echo.WrapMiddleware(authorise), adopt.Echo(door), layer)
		default:
			e.Use(layer, echo.WrapMiddleware(authorise), adopt.Echo(door))
		}
		e.POST("/orders", func(c echo.Context) error { return do(c.Request()) })
		return e
	}
}

// within has the whole framework, with its layer, inside of the door.
func within(mount func(*semelhttp.Middleware, work) http.Handler) func(*semelhttp.Middleware, work) http.Handler {
	return func(door *semelhttp.Middleware, do work) http.Handler {
		return authorise(door.Handler(mount(nil, do)))
	}
}

// TestLayers: promise 3: an unknown outcome stays unknown, in every order of the door and the frameworks' own layers.
func TestLayers(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	quiet := gin.RecoveryWithWriter(io.Discard)
	echoRecover := echomiddleware.RecoverWithConfig(echomiddleware.RecoverConfig{DisablePrintStack: true})
	chiTimeout, echoTimeout := chimiddleware.Timeout(time.Millisecond), echomiddleware.ContextTimeout(time.Millisecond)
	type mount = func(*semelhttp.Middleware, work) http.Handler
	for name, c := range map[string]struct {
		mount mount
		do    work
		word  string // of the record
		ran   int64
	}{
		"chi, recovery outside":             {chiOrder(chimiddleware.Recoverer, false), panics, "unknown", 1},
		"chi, recovery inside":              {chiOrder(chimiddleware.Recoverer, true), panics, "unknown", 1},
		"chi inside, recovery inside":       {within(chiOrder(chimiddleware.Recoverer, true)), panics, "unknown", 1},
		"chi, recovery inside, aborts":      {chiOrder(chimiddleware.Recoverer, true), aborts, "unknown", 1},
		"chi, recovery inside, fails":       {chiOrder(chimiddleware.Recoverer, true), fails, "released", 2},
		"chi, time-out inside":              {chiOrder(chiTimeout, true), waits, "unknown", 1},
		"gin, recovery outside":             {ginOrder(quiet, false), panics, "unknown", 1},
		"gin, recovery inside":              {ginOrder(quiet, true), panics, "unknown", 1},
		"gin inside, recovery inside":       {within(ginOrder(quiet, true)), panics, "unknown", 1},
		"gin, recovery inside, aborts":      {ginOrder(quiet, true), aborts, "unknown", 1},
		"gin, recovery inside, broken pipe": {ginOrder(quiet, true), hangsUp, "unknown", 1},
		"gin, recovery inside, fails":       {ginOrder(quiet, true), fails, "released", 2},
		"echo, recovery outside":            {echoOrder(echoRecover, false), panics, "unknown", 1},
		"echo, recovery inside":             {echoOrder(echoRecover, true), panics, "unknown", 1},
		"echo inside, recovery inside":      {within(echoOrder(echoRecover, true)), panics, "unknown", 1},
		"echo, recovery inside, aborts":     {echoOrder(echoRecover, true), aborts, "unknown", 1},
		"echo, recovery inside, fails":      {echoOrder(echoRecover, true), fails, "released", 2},
		"echo, time-out inside":             {echoOrder(echoTimeout, true), waits, "unknown", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			server := httptest.NewUnstartedServer(c.mount(newDoor(t), func(r *http.Request) error {
				ran.Add(1)
				return c.do(r)
			}))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.Start()
			t.Cleanup(server.Close)
			send := func() int {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/orders", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-User", "ann")
				r.Header.Set("Idempotency-Key", "k1")
				res, err := server.Client().Do(r)
				if err != nil { // the handler aborted it
					return 0
				}
				_ = res.Body.Close()
				return res.StatusCode
			}
			send()
			if got := send(); (got == http.StatusConflict) != (c.word == "unknown") {
				t.Errorf("the retry got %d, want the record %s", got, c.word)
			}
			if got := ran.Load(); got != c.ran {
				t.Errorf("promise 3: the handler ran %d times, want %d", got, c.ran)
			}
		})
	}
}

// TestConnectInDo: promise 3: the time-out of a call by connect is one for the work that made it.
func TestConnectInDo(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	guard, err := semel.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(); _ = store.Close() })
	for code, ran := range map[connect.Code]int{connect.CodeDeadlineExceeded: 1, connect.CodeNotFound: 2} {
		runs := 0
		for range 2 {
			_, _ = semel.Do(t.Context(), guard, semel.Key{Scope: "bank", Name: code.String()}, semel.Fingerprint{1}, func(context.Context) (int, error) {
				runs++
				return 0, connect.NewError(code, errors.New("said by the server"))
			})
		}
		if runs != ran {
			t.Errorf("promise 3: %v: the work ran %d times, want %d", code, runs, ran)
		}
	}
}
