package faulty

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// Behaviour configures an application. The zero value answers at once, and takes every order.
type Behaviour struct {
	// Before is the time until an order is in the books; it ends early, without an effect, with the request's context.
	// After is the time from then until the answer, whatever happens to the request.
	Before, After time.Duration
	// Takes puts an order into the books. Default: [Books.Add].
	Takes func(*Books, Order) (Order, error)
	// Cookie sets a session cookie on each creation.
	Cookie bool
	// Plain treats an order without a body as one for a coffee.
	Plain bool
	// Volatile puts the id of the request and the time into each answer.
	Volatile bool
	// Lists makes every answer refer to the page of the list that contains the order, and not to the order.
	Lists bool
	// Ask, if not nil, is called before an order is in the books, such as for a payment. Its error is answered with
	// 502.
	Ask func(context.Context) error
	// Breaks enters an order whose number begins with "fail-" into the books before it fails. All of them fail, with
	// 500.
	Breaks bool
}

// App is a small shop:
//
//	POST /orders        JSON or a form with number and amount: 201
//	GET  /orders        all of them     GET /orders/{id}   one
//	GET  /count         {"orders": 2}
//
// It has no protection of its own. It is safe for concurrent use.
type App struct {
	behaviour Behaviour
	books     Books
	mux       *http.ServeMux

	mu       sync.Mutex // guards the field below
	requests int64
}

// NewApp opens a shop without orders.
func NewApp(behaviour Behaviour) *App {
	if behaviour.Takes == nil {
		behaviour.Takes = (*Books).Add
	}
	a := &App{behaviour: behaviour, mux: http.NewServeMux()}
	a.mux.HandleFunc("POST /orders", a.create)
	a.mux.HandleFunc("GET /orders", a.list)
	a.mux.HandleFunc("GET /orders/{id}", a.show)
	a.mux.HandleFunc("GET /count", a.count)
	return a
}

// ServeHTTP implements [http.Handler].
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// Name implements check.Counter: the shop reports its own orders.
func (*App) Name() string { return "the books" }

// PerIntent implements check.Counter.
func (*App) PerIntent() bool { return false }

// Count implements check.Counter.
func (a *App) Count(context.Context, func(string) string) (int64, error) {
	return int64(len(a.books.All())), nil
}

func (a *App) create(w http.ResponseWriter, r *http.Request) {
	order, problem := a.read(r)
	if problem != nil {
		answerProblem(w, problem.status, problem.detail)
		return
	}
	if !within(r.Context(), a.behaviour.Before) {
		return // the client is gone, and nothing happened
	}
	if order.fails() && !a.behaviour.Breaks {
		answerProblem(w, http.StatusInternalServerError, "the printer is on fire")
		return
	}
	if a.behaviour.Ask != nil {
		if err := a.behaviour.Ask(r.Context()); err != nil {
			answerProblem(w, http.StatusBadGateway, "the payment service does not answer")
			return
		}
	}
	kept, err := a.behaviour.Takes(&a.books, order)
	within(context.WithoutCancel(r.Context()), a.behaviour.After)
	switch {
	case err != nil:
		answerTaken(w, err)
	case order.fails():
		answerProblem(w, http.StatusInternalServerError, "the printer is on fire")
	default:
		a.created(w, r, kept)
	}
}

func (a *App) read(r *http.Request) (Order, *refusal) {
	if a.behaviour.Plain && r.ContentLength == 0 {
		return Order{Number: "coffee", Amount: 1}, nil
	}
	return readOrder(r)
}

func (a *App) created(w http.ResponseWriter, r *http.Request, order Order) {
	if a.behaviour.Cookie {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: fmt.Sprintf("s%d", order.ID), Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode})
	}
	where := fmt.Sprintf("/orders/%d", order.ID)
	if a.behaviour.Lists {
		where = fmt.Sprintf("/orders?page=%d", order.ID/ordersPerPage)
	}
	w.Header().Set("Location", where)
	if isForm(r) {
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	view := map[string]any{"id": order.ID, "number": order.Number, "amount": order.Amount}
	if a.behaviour.Volatile {
		a.mu.Lock()
		a.requests++
		view["request_id"] = fmt.Sprintf("req-%d", a.requests)
		a.mu.Unlock()
		view["answered_at"] = time.Now().UTC().Format(time.RFC3339Nano)
	}
	status := http.StatusCreated
	if order.found {
		status = http.StatusOK
	}
	answerJSON(w, status, view)
}

// ordersPerPage is the number of orders on a page of the list.
const ordersPerPage = 20

func (a *App) list(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, a.books.All())
}

func (a *App) show(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	all := a.books.All()
	if err != nil || id < 1 || id > len(all) {
		http.NotFound(w, r)
		return
	}
	answerJSON(w, http.StatusOK, all[id-1])
}

func (a *App) count(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, map[string]int{"orders": len(a.books.All())})
}

// within waits for d and returns true, or false if the context ends first.
func within(ctx context.Context, d time.Duration) bool {
	return ctx.Err() == nil && waiting.Sleep(ctx, d)
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"detail":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have gone
}

func answerProblem(w http.ResponseWriter, status int, detail string) {
	text, err := json.Marshal(map[string]any{
		"title": http.StatusText(status), "status": status, "detail": detail,
		"retryable": status >= 500 || w.Header().Get("Retry-After") != "",
	})
	if err != nil {
		text = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have gone
}

func isForm(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}
