package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/adopt"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// shop makes a new order in each call.
type shop struct{ orders atomic.Int64 }

func (s *shop) order() string { return fmt.Sprint("order ", s.orders.Add(1)) }

func (s *shop) create(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, s.order())
}

// newDoor returns the door that all of them share.
func newDoor(t *testing.T) *semelhttp.Middleware {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store := memstore.New(nil)
	t.Cleanup(func() { check(store.Close()) })
	guard, err := semel.New(store, nil)
	check(err)
	user := func(r *http.Request) string { return r.Header.Get("X-User") } // as authenticated
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(user), nil)
	check(err)
	t.Cleanup(func() { check(guard.Close()) })
	return door
}

func mountNetHTTP(door *semelhttp.Middleware, s *shop) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.create)
	return authorise(door.Handler(mux))
}

func mountChi(door *semelhttp.Middleware, s *shop) http.Handler {
	router := chi.NewRouter()
	router.Use(authorise, door.Handler)
	router.Post("/orders", s.create)
	return router
}

func mountGin(door *semelhttp.Middleware, s *shop) http.Handler {
	engine := gin.New()
	engine.Use(adopt.Gin(door))
	engine.POST("/orders", func(c *gin.Context) { c.String(http.StatusCreated, s.order()) })
	return authorise(engine)
}

func mountEcho(door *semelhttp.Middleware, s *shop) http.Handler {
	e := echo.New()
	e.Use(echo.WrapMiddleware(authorise), adopt.Echo(door))
	e.POST("/orders", func(c echo.Context) error { return c.String(http.StatusCreated, s.order()) })
	return e
}

const procedure = "/shop.v1.Shop/Create"

func mountConnect(door *semelhttp.Middleware, create func(context.Context, *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(procedure, connect.NewUnaryHandler(procedure, create))
	return authorise(door.Handler(mux))
}

// TestTwice: the same request, sent twice and then by eight callers at once, has one effect, and all get its answer.
func TestTwice(t *testing.T) {
	t.Parallel()
	for name, mount := range map[string]func(*semelhttp.Middleware, *shop) http.Handler{
		"net/http": mountNetHTTP, "chi": mountChi, "gin": mountGin, "echo": mountEcho,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			server := httptest.NewServer(mount(newDoor(t), s))
			t.Cleanup(server.Close)
			send := func(key string) reply {
				return post(t, server, "/orders", "a book", "X-User", "ann", "Idempotency-Key", key)
			}
			for _, word := range []string{"executed", "replayed"} {
				if got, want := send("k1"), (reply{http.StatusCreated, word, "", "order 1"}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			}
			atOnce(func() {
				if got := send("k2"); got.Status != http.StatusCreated || got.Body != "order 2" {
					t.Errorf("at once: %+v", got)
				}
			})
			if got := s.orders.Load(); got != 2 {
				t.Errorf("%d orders, want 2", got)
			}
		})
	}
}

func atOnce(send func()) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(send)
	}
	all.Wait()
}

// TestConnect: the same for unary calls of the Connect protocol. An error of the service is recorded or released by its code.
func TestConnect(t *testing.T) {
	t.Parallel()
	s := &shop{}
	server := httptest.NewServer(mountConnect(newDoor(t), func(_ context.Context, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
		order := s.order()
		switch r.Msg.GetValue() {
		case "busy":
			return nil, connect.NewError(connect.CodeUnavailable, errors.New(order))
		case "sold out":
			return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New(order))
		}
		return connect.NewResponse(wrapperspb.String(order)), nil
	}))
	t.Cleanup(server.Close)
	for name, options := range map[string][]connect.ClientOption{"proto": nil, "json": {connect.WithProtoJSON()}} {
		client := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](server.Client(), server.URL+procedure, options...)
		call := func(key, item string) string {
			req := connect.NewRequest(wrapperspb.String(item))
			req.Header().Set("Idempotency-Key", key)
			req.Header().Set("X-User", "ann")
			res, err := client.CallUnary(t.Context(), req)
			if err != nil {
				return err.Error()
			}
			return res.Msg.GetValue()
		}
		s.orders.Store(0)
		atOnce(func() {
			if got := call(name+"1", "a book"); got != "order 1" {
				t.Errorf("%s at once: %s", name, got)
			}
		})
		for _, c := range []struct{ key, item, want string }{
			{"1", "a book", "order 1"},
			{"2", "sold out", "failed_precondition: order 2"},
			{"2", "sold out", "failed_precondition: order 2"},
			{"3", "busy", "unavailable: order 3"},
			{"3", "busy", "unavailable: order 4"},
		} {
			if got := call(name+c.key, c.item); got != c.want {
				t.Errorf("%s %+v: got %s", name, c, got)
			}
		}
		if got := call(name+"1", "another"); !strings.Contains(got, "422") {
			t.Errorf("%s: a key used again: got %s", name, got)
		}
	}
}
