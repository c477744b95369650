// Command routers registers handlers with other routers.
package main

import (
	"database/sql"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gorilla/mux"
	"github.com/labstack/echo/v4"
	"github.com/semel-dev/semel/semelhttp"
)

var db *sql.DB

func debit() {
	_, _ = db.Exec("UPDATE account SET balance = balance - 1 WHERE id = $1", 1)
}

func create(http.ResponseWriter, *http.Request) { debit() }

func ginCreate(*gin.Context) { debit() }

func echoCreate(echo.Context) error { debit(); return nil }

func mounted(r chi.Router, door *semelhttp.Middleware) {
	r.Post("/a", create) // want `unguarded-handler: POST /a`
	r.Get("/b", create)
	r.MethodFunc("PATCH", "/c", create) // want `unguarded-handler: PATCH /c`
	r.With(door.Handler).Post("/d", create)
	r.Group(func(r chi.Router) {
		r.Use(door.Handler)
		r.Post("/e", create)
		r.Route("/deep", func(r chi.Router) { r.Put("/f", create) })
	})
	r.With(door.Handler).Route("/g", func(r chi.Router) { r.Post("/", create) })
	r.Route("/h", func(r chi.Router) {
		r.Post("/", create) // want `unguarded-handler: POST /`
	})
}

func idempotency(*gin.Context) {}

func main() {
	mounted(chi.NewRouter(), &semelhttp.Middleware{})

	g := gin.Default()
	g.POST("/gin", ginCreate) // want `unguarded-handler: POST /gin`
	g.GET("/gin", ginCreate)
	g.POST("/guarded", idempotency, ginCreate)
	part := g.Group("/part").Use(idempotency)
	part.POST("/gin", ginCreate)
	other := g.Group("/other")
	other.PATCH("/gin", ginCreate) // want `unguarded-handler: PATCH /gin`

	e := echo.New()
	e.POST("/echo", echoCreate)       // want `unguarded-handler: POST /echo`
	e.Add("PUT", "/echo", echoCreate) // want `unguarded-handler: PUT /echo`

	m := mux.NewRouter()
	m.HandleFunc("/gorilla", create).Methods("GET")
	m.HandleFunc("/gorilla", create).Methods(http.MethodPost, http.MethodOptions) // want `unguarded-handler: POST /gorilla`
	m.Path("/path").Handler(http.HandlerFunc(create)).Methods("PUT")              // want `unguarded-handler: PUT /path`
}
