// Package api knows the store by interfaces only.
package api

import (
	"context"
	"net/http"
)

type orders interface {
	Create(ctx context.Context, ref string) error
}

type balances interface {
	Balance(ctx context.Context) error
}

type api struct {
	orders   orders
	balances balances
}

func Routes(mux *http.ServeMux, o orders, b balances) {
	a := &api{o, b}
	mux.HandleFunc("POST /orders", a.create)
	mux.HandleFunc("POST /balances", a.balance)
}

func (a *api) create(w http.ResponseWriter, r *http.Request) {
	_ = a.orders.Create(r.Context(), r.FormValue("ref"))
}

// Two types have the method: which one it is cannot be told.
func (a *api) balance(w http.ResponseWriter, r *http.Request) {
	_ = a.balances.Balance(r.Context())
}
