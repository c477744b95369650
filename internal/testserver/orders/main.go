// Program orders is an application with many kinds of forms and answers, which people of the browser tests send twice. It
// prints two addresses: of the application as it is, and of the one that semelhttp protects from inside. It runs until its input ends.
//
// The query of a page names its form, and what the form's answer is to be. A test is known by its cell: rows are counted for each.
package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/web"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		return err
	}
	defer guard.Close() //nolint:errcheck // the program ends.
	inside, err := newApplication(guard)
	if err != nil {
		return err
	}
	for _, app := range []*application{{}, inside} {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it lives as long as the program.
		if err != nil {
			return err
		}
		server := &http.Server{Handler: app.handler(), ReadHeaderTimeout: time.Minute}
		go server.Serve(listener) //nolint:errcheck // the program ends.
		if _, err := fmt.Fprintf(out, "http://%s\n", listener.Addr()); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// application takes orders. Its zero value has no protection.
type application struct {
	tokens *semelhttp.FormTokens
	forms  *semelhttp.Middleware
	calls  *semelhttp.Middleware

	mu    sync.Mutex     // guards the fields below
	rows  map[string]int // by cell
	tries map[string]int // requests that reached the application, by cell
}

func newApplication(guard *semel.Guard) (*application, error) {
	tokens, err := semelhttp.NewFormTokens([][]byte{[]byte(rand.Text())}, semelhttp.FormTokenOptions{
		Form: "order", Lifetime: time.Hour,
		Senders: func(r *http.Request, _ []string) []string { return []string{session(r)} },
	})
	if err != nil {
		return nil, err
	}
	forms, err := semelhttp.New(guard, semelhttp.ScopeBy(session), &semelhttp.Options{
		Key: tokens, Required: true, Fingerprint: semelhttp.FingerprintOptions{Func: tokens.Fingerprint},
	})
	if err != nil {
		return nil, err
	}
	calls, err := semelhttp.New(guard, semelhttp.ScopeBy(session), &semelhttp.Options{Required: true})
	return &application{tokens: tokens, forms: forms, calls: calls}, err
}

// session names the person; the cookie of one that changes with every answer names no person.
func session(r *http.Request) string {
	if cookie, err := r.Cookie("sessionid"); err == nil {
		return cookie.Value
	}
	return "anybody"
}

func (a *application) handler() http.Handler {
	a.rows, a.tries = make(map[string]int), make(map[string]int)
	mux := http.NewServeMux()
	mux.Handle("GET /semel/", http.StripPrefix("/semel", web.Handler()))
	mux.HandleFunc("GET /new", a.page)
	mux.HandleFunc("GET /rows", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		_ = json.NewEncoder(w).Encode(a.rows[r.FormValue("cell")])
	})
	mux.HandleFunc("GET /renew", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: r.FormValue("cookie"), Value: rand.Text(), Path: "/"}) //nolint:gosec // plain http on this machine.
		say(w, http.StatusOK, "Renewed")
	})
	mux.HandleFunc("GET /sign-in", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "signed_in", Value: "1", Path: "/"}) //nolint:gosec // as above.
		say(w, http.StatusOK, "Sign in")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { say(w, http.StatusOK, r.URL.Path[1:]) })
	order, call := http.Handler(http.HandlerFunc(a.order)), http.Handler(http.HandlerFunc(a.order))
	if a.tokens != nil {
		order, call = a.forms.Handler(order), a.calls.Handler(call)
	}
	mux.Handle("POST /orders", order)
	mux.Handle("POST /api/orders", call)
	return mux
}

// say answers with a page whose title is a word or two.
func say(w http.ResponseWriter, status int, title string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>%s</title><link rel="icon" href="data:,"><h1>%[1]s</h1></html>`, html.EscapeString(title))
}

// order makes a row, and gives the answer that the query asks for.
func (a *application) order(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	cell, answer := query.Get("cell"), query.Get("answer")
	wait, err := strconv.Atoi(query.Get("wait"))
	if err != nil || r.ParseForm() != nil {
		say(w, http.StatusBadRequest, "Bad request")
		return
	}
	<-time.After(time.Duration(wait) * time.Millisecond)
	_, err = r.Cookie("signed_in")
	a.mu.Lock()
	a.tries[cell]++
	first := a.tries[cell] == 1
	refused := answer == "sign-in" && err != nil || (answer == "500" || answer == "503") && first || answer == "422" && r.PostForm.Get("note") == ""
	if !refused {
		a.rows[cell]++
	}
	number := a.rows[cell]
	a.mu.Unlock()
	location := fmt.Sprintf("/order-%d?cell=%s", number, url.QueryEscape(cell))
	switch status, _ := strconv.Atoi(answer); {
	case refused && status == 0:
		http.Redirect(w, r, "/sign-in?cell="+url.QueryEscape(cell), http.StatusSeeOther)
	case refused && status == http.StatusUnprocessableEntity:
		a.write(w, r, status)
	case refused:
		say(w, status, "Failed")
	case answer == "download":
		w.Header().Set("Content-Disposition", `attachment; filename="order.txt"`)
		_, _ = fmt.Fprintln(w, "order", number)
	case status == http.StatusNoContent:
		w.WriteHeader(status)
	case status == http.StatusOK:
		say(w, status, fmt.Sprintf("order-%d", number))
	case strings.HasPrefix(r.URL.Path, "/api/"):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(strconv.Quote(location)))
	case status >= 300 && status < 400:
		http.Redirect(w, r, location, status)
	default:
		http.Redirect(w, r, location, http.StatusSeeOther)
	}
}

// page shows the form that the query names, and gives a new visitor a session.
func (a *application) page(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("cookie")
	if name == "" {
		name = "sessionid"
	}
	if _, err := r.Cookie(name); err != nil || name != "sessionid" { // any other name is that of one that changes with every answer
		cookie := &http.Cookie{Name: name, Value: rand.Text(), Path: "/"} //nolint:gosec // as above.
		http.SetCookie(w, cookie)
		if err != nil {
			r.AddCookie(cookie)
		}
	}
	a.write(w, r, http.StatusOK)
}

// write writes the page with the form.
func (a *application) write(w http.ResponseWriter, r *http.Request, status int) {
	query := url.Values{}
	for _, name := range []string{"form", "cell", "answer", "wait"} {
		query.Set(name, r.FormValue(name))
	}
	form, door := query.Get("form"), r.FormValue("door")
	path, scripts, token, unnamed, named := "/orders", "", "", "", ""
	switch {
	case door == "fetch":
		path, scripts = "/api/orders", calling
	case a.tokens != nil:
		scripts = `<script defer src="/semel/guard.js"></script>`
		token = hidden(a.tokens.Mint(session(r)))
		unnamed, named = hidden("sm1.image."), hidden("sm1.image.go") // so that where the button is pressed does not count
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	body := strings.NewReplacer("{action}", strings.ReplaceAll(path+"?"+query.Encode(), "&", "&amp;"),
		"{token}", token, "{unnamed}", unnamed, "{named}", named, "{random}", rand.Text(), "{fields}", `<input name="item" value="tea" autofocus> <input name="note">`).Replace(forms()[form])
	//nolint:gosec // a page of the tests.
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>New</title><link rel="icon" href="data:,">
<style>.a,.b{position:absolute;left:20px;top:100px;width:120px;height:40px}.b{left:160px}.c{position:absolute;left:20px;top:200px;width:120px;height:40px}</style>%s</head><body>%s<a class="c" href="">Open again</a></body></html>`, scripts, body)
}

// hidden is a field for Semel in a form of the protected application.
func hidden(value string) string {
	return `<input type="hidden" name="` + semelhttp.FormTokenField + `" value="` + value + `">`
}

// calling sends a form by semelFetch. A page that stays shows the order in its title, others lead to it.
const calling = `<script type="module">
import { semelFetch } from "/semel/semel.js";
document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target, { searchParams } = new URL(location);
  try {
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const response = await semelFetch(event.submitter?.getAttribute("formaction") ?? form.action, { method: "POST", body }, { intent: "order", from: form });
    if (!response.ok) document.title = response.status === 422 ? "New" : "Failed";
    else if (searchParams.has("stays")) document.title = (await response.json()).match(/order-\d+/)[0];
    else location.assign(await response.json());
  } catch (error) {
    document.title = "Failed";
  }
});
document.documentElement.dataset.ready = "";
</script>`
