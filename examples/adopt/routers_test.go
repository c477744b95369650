package adopt_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/adopt"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	goleak.VerifyTestMain(m)
}

// invoices counts what the handlers of one router did.
type invoices struct{ created atomic.Int64 }

// routers builds the same small service with every router:
//
//	POST /orders/{id}/invoices   creates, answers 201 with the order's id and how many there are
//	POST /fail                   fails in the router's own way, as 409
//	POST /panic                  panics; the router's recovery answers 500
//	POST /stream                 flushes
//
// All of it needs the header X-User, which is looked at before the door.
func routers() map[string]func(*semelhttp.Middleware, *invoices) http.Handler {
	return map[string]func(*semelhttp.Middleware, *invoices) http.Handler{
		"net/http": netHTTP, "chi": chiRouter, "gorilla": gorillaRouter, "echo": echoRouter, "gin": ginRouter,
		"echo inside the door": func(door *semelhttp.Middleware, all *invoices) http.Handler {
			return authorise(door.Handler(echoRouter(nil, all)))
		},
		"gin inside the door": func(door *semelhttp.Middleware, all *invoices) http.Handler {
			return authorise(door.Handler(ginRouter(nil, all)))
		},
	}
}

func authorise(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-User") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// plain are the handlers of the routers that have net/http's.
type plain struct{ all *invoices }

func (p plain) create(w http.ResponseWriter, r *http.Request, id string) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Location", "/invoices")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "%s %s %d", id, body, p.all.created.Add(1))
}

func (p plain) fail(w http.ResponseWriter, _ *http.Request) {
	p.all.created.Add(1)
	http.Error(w, "no", http.StatusConflict)
}

func (p plain) panics(http.ResponseWriter, *http.Request) {
	p.all.created.Add(1)
	panic("no")
}

func (p plain) stream(w http.ResponseWriter, _ *http.Request) {
	p.all.created.Add(1)
	fmt.Fprint(w, "a")
	_ = http.NewResponseController(w).Flush()
	fmt.Fprint(w, "b")
}

func netHTTP(door *semelhttp.Middleware, all *invoices) http.Handler {
	p, router := plain{all}, http.NewServeMux()
	router.HandleFunc("POST /orders/{id}/invoices", func(w http.ResponseWriter, r *http.Request) { p.create(w, r, r.PathValue("id")) })
	router.HandleFunc("POST /fail", p.fail)
	router.HandleFunc("POST /panic", p.panics)
	router.HandleFunc("POST /stream", p.stream)
	return recovering(authorise(door.Handler(router)))
}

func chiRouter(door *semelhttp.Middleware, all *invoices) http.Handler {
	p, router := plain{all}, chi.NewRouter()
	router.Use(recovering, authorise, door.Handler)
	router.Post("/orders/{id}/invoices", func(w http.ResponseWriter, r *http.Request) { p.create(w, r, chi.URLParam(r, "id")) })
	router.Post("/fail", p.fail)
	router.Post("/panic", p.panics)
	router.Post("/stream", p.stream)
	return router
}

func gorillaRouter(door *semelhttp.Middleware, all *invoices) http.Handler {
	p, router := plain{all}, mux.NewRouter()
	router.Use(recovering, authorise, door.Handler)
	router.Methods(http.MethodPost).Path("/orders/{id}/invoices").HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.create(w, r, mux.Vars(r)["id"])
	})
	router.Methods(http.MethodPost).Path("/fail").HandlerFunc(p.fail)
	router.Methods(http.MethodPost).Path("/panic").HandlerFunc(p.panics)
	router.Methods(http.MethodPost).Path("/stream").HandlerFunc(p.stream)
	return router
}

func echoRouter(door *semelhttp.Middleware, all *invoices) http.Handler {
	router := echo.New()
	router.Logger.SetOutput(io.Discard)
	router.Use(middleware.Recover(), echo.WrapMiddleware(authorise))
	if door != nil {
		router.Use(adopt.Echo(door))
	}
	router.POST("/orders/:id/invoices", func(c echo.Context) error {
		body, _ := io.ReadAll(c.Request().Body)
		c.Response().Header().Set("Location", "/invoices")
		return c.String(http.StatusCreated, fmt.Sprintf("%s %s %d", c.Param("id"), body, all.created.Add(1)))
	})
	router.POST("/fail", func(echo.Context) error {
		all.created.Add(1)
		return echo.NewHTTPError(http.StatusConflict, "no")
	})
	router.POST("/panic", func(echo.Context) error {
		all.created.Add(1)
		panic("no")
	})
	router.POST("/stream", func(c echo.Context) error {
		all.created.Add(1)
		_, _ = io.WriteString(c.Response(), "a")
		c.Response().Flush()
		_, err := io.WriteString(c.Response(), "b")
		return err
	})
	return router
}

func ginRouter(door *semelhttp.Middleware, all *invoices) http.Handler {
	router := gin.New()
	router.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusInternalServerError) }))
	router.Use(func(c *gin.Context) {
		if c.GetHeader("X-User") == "" {
			c.AbortWithStatus(http.StatusUnauthorized)
		}
	})
	if door != nil {
		router.Use(adopt.Gin(door))
	}
	router.POST("/orders/:id/invoices", func(c *gin.Context) {
		body, _ := io.ReadAll(c.Request.Body)
		c.Header("Location", "/invoices")
		c.String(http.StatusCreated, "%s %s %d", c.Param("id"), body, all.created.Add(1))
	})
	router.POST("/fail", func(c *gin.Context) {
		all.created.Add(1)
		_ = c.AbortWithError(http.StatusConflict, errors.New("no"))
	})
	router.POST("/panic", func(*gin.Context) {
		all.created.Add(1)
		panic("no")
	})
	router.POST("/stream", func(c *gin.Context) {
		all.created.Add(1)
		n := 0
		c.Stream(func(w io.Writer) bool {
			n++
			_, _ = io.WriteString(w, string(rune('a'+n-1)))
			return n < 2
		})
	})
	return router
}

// reply holds the parts of an answer that are compared.
type reply struct {
	Status         int
	Word, Location string
	Body           string
}

func post(t *testing.T, server *httptest.Server, path, body string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header.Get(semelhttp.StatusHeader), res.Header.Get("Location"), string(got)}
}

// TestRouters: the same table of answers, whatever the router.
func TestRouters(t *testing.T) {
	t.Parallel()
	for name, router := range routers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memstore.New(nil)
			guard, err := semel.New(store, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = guard.Close(); _ = store.Close() })
			user := func(r *http.Request) string { return r.Header.Get("X-User") }
			door, err := semelhttp.New(guard, semelhttp.ScopeBy(user), nil)
			if err != nil {
				t.Fatal(err)
			}
			var all invoices
			server := httptest.NewUnstartedServer(router(door, &all))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.Start()
			t.Cleanup(server.Close)
			send := func(path, key, body string) reply {
				t.Helper()
				got := post(t, server, path, body, "X-User", "ann", "Idempotency-Key", key)
				if strings.Contains(got.Body, "urn:semel:problem:") {
					_, rest, _ := strings.Cut(got.Body, "urn:semel:problem:")
					got.Body, _, _ = strings.Cut(rest, `"`)
				}
				return got
			}
			check := func(got, want reply, what string) {
				t.Helper()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			const path = "/orders/7/invoices"
			check(send(path, "k1", "x"), reply{201, "executed", "/invoices", "7 x 1"}, "first")
			check(send(path, "k1", "x"), reply{201, "replayed", "/invoices", "7 x 1"}, "promise 2: replay")
			check(send(path, "k1", "y"), reply{422, "", "", "key-reused"}, "promise 6: mismatch")
			check(send(path, "k2", "x"), reply{201, "executed", "/invoices", "7 x 2"}, "another key")
			check(post(t, server, path, "x", "Idempotency-Key", "k1"), reply{Status: 401}, "promise 5: authorisation before replay")
			check(post(t, server, path, "x", "X-User", "bo", "Idempotency-Key", "k1"), reply{201, "executed", "/invoices", "7 x 3"}, "promise 5: another user")

			failed := send("/fail", "k3", "")
			if failed.Status != http.StatusConflict || failed.Word != "executed" {
				t.Errorf("a failure: got %+v, want 409 executed", failed)
			}
			failed.Word = "replayed"
			check(send("/fail", "k3", ""), failed, "promise 2: a failure, again")

			if got := send("/panic", "k4", ""); got.Status != http.StatusInternalServerError || got.Word != "unknown" {
				t.Errorf("a panic: got %+v, want 500 unknown", got)
			}
			check(send("/panic", "k4", ""), reply{409, "", "", "outcome-unknown"}, "promise 3: a panic, again")
			check(send("/stream", "k5", ""), reply{200, "executed", "", "ab"}, "a stream")
			check(send("/stream", "k5", ""), reply{409, "", "", "response-not-kept"}, "promise 3: a stream, again")
			if got := all.created.Load(); got != 6 {
				t.Errorf("%d handlers ran, want 6", got)
			}
		})
	}
}
