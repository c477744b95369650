package shop

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
)

// pageFiles are the pages and what they load. Each is served at its own name.
//
//go:embed pages
var pageFiles embed.FS

//go:embed order.html
var orderPage string

// pages serves the files of the folder pages, and the first page at /. A page
// gives a new visitor a session.
func (s *Shop) pages() http.Handler {
	files, err := fs.Sub(pageFiles, "pages")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := path.Ext(r.URL.Path); name == ".html" || r.URL.Path == "/" {
			if err := s.startSession(w, r); err != nil {
				s.refuse(w, r, http.StatusInternalServerError, err)
				return
			}
		}
		server.ServeHTTP(w, r)
	})
}

// submitOrder takes the order form and leads to the page of the order.
func (s *Shop) submitOrder(w http.ResponseWriter, r *http.Request) {
	created, err := s.placeOrder(r, order{
		ID: r.PostFormValue("id"), Customer: r.PostFormValue("customer"), Note: r.PostFormValue("note"),
	})
	if err != nil {
		s.refuse(w, r, statusOf(err), err)
		return
	}
	http.Redirect(w, r, "/orders/"+created.ID, http.StatusSeeOther)
}

// showOrder is the page of one order.
func (s *Shop) showOrder(w http.ResponseWriter, r *http.Request) {
	found, err := s.db.findOrder(r.Context(), accountOf(r), r.PathValue("id"))
	if err != nil {
		s.refuse(w, r, statusOf(err), err)
		return
	}
	lines, err := s.db.listLines(r.Context(), found.ID)
	if err != nil {
		s.refuse(w, r, statusOf(err), err)
		return
	}
	page, err := template.New("order").Parse(orderPage)
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := page.Execute(w, map[string]any{"Order": found, "Lines": lines}); err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "cannot write the page", "error", err)
	}
}
