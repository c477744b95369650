package shop

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
)

// pageFiles are the pages that are the same for every visitor, and what pages load.
// Each is served at its own name.
//
//go:embed pages
var pageFiles embed.FS

// templateFiles are the pages that are filled in.
//
//go:embed templates
var templateFiles embed.FS

// pages serves the files of the folder pages. A page gives a new visitor a
// session.
func (s *Shop) pages() (http.Handler, error) {
	files, err := fs.Sub(pageFiles, "pages")
	if err != nil {
		return nil, fmt.Errorf("open the pages: %w", err)
	}
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Ext(r.URL.Path) == ".html" {
			if _, err := s.startSession(w, r); err != nil {
				s.refuse(w, r, http.StatusInternalServerError, err)
				return
			}
		}
		if f, err := files.Open(strings.TrimPrefix(r.URL.Path, "/")); err != nil {
			s.refuse(w, r, http.StatusNotFound, errNotFound)
			return
		} else if err := f.Close(); err != nil {
			s.refuse(w, r, http.StatusInternalServerError, err)
			return
		}
		server.ServeHTTP(w, r)
	}), nil
}

// showHome is the first page: the three ways to order, and the account.
func (s *Shop) showHome(w http.ResponseWriter, r *http.Request) {
	account, err := s.startSession(w, r)
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err)
		return
	}
	s.writePage(w, r, http.StatusOK, "index.html", map[string]any{"Account": account, "Guest": isGuest(account)})
}

// showForm is the order form. The hidden field gives each rendering a key of its
// own, even in a browser that runs no scripts.
func (s *Shop) showForm(w http.ResponseWriter, r *http.Request) {
	if _, err := s.startSession(w, r); err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err)
		return
	}
	s.writePage(w, r, http.StatusOK, "form.html", map[string]any{"KeyField": KeyField, "Key": newID()})
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
	s.writePage(w, r, http.StatusOK, "order.html", map[string]any{"Order": found, "Lines": lines})
}

// errorTitle is the heading of an error page.
func errorTitle(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "Please sign in"
	case http.StatusNotFound:
		return "Page not found"
	case http.StatusInternalServerError:
		return "Something went wrong"
	}
	return "Your order was not accepted"
}

// writePage fills in a page and writes it as a whole.
func (s *Shop) writePage(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	var page bytes.Buffer
	filled, err := template.ParseFS(templateFiles, "templates/"+name)
	if err == nil {
		err = filled.Execute(&page, data)
	}
	if err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "cannot fill in the page", slog.String("page", name), slog.Any("error", err))
		http.Error(w, "something went wrong here", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the client may be gone
}
