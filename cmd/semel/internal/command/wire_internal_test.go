package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/webhooksig"
)

// httpCommand sends one request and prints the answer: status line, headers in order, an empty line, the body.
func httpCommand(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, args[0], args[1], nil)
	if err != nil {
		return err
	}
	for _, arg := range args[2:] {
		name, value, found := strings.Cut(arg, ":")
		if !found || strings.ContainsAny(name, "{ ") {
			request.Body = io.NopCloser(strings.NewReader(arg))
			request.ContentLength = int64(len(arg))
			continue
		}
		if name == "Host" {
			request.Host = value
			continue
		}
		request.Header.Add(name, strings.TrimSpace(value))
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	fmt.Fprintln(os.Stdout, response.Status)
	var lines []string
	for name, values := range response.Header {
		lines = append(lines, name+": "+strings.Join(values, ", "))
	}
	sort.Strings(lines)
	fmt.Fprintf(os.Stdout, "%s\n\n", strings.Join(lines, "\n"))
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}

// deliverCommand sends a signed webhook: see TestScripts.
func deliverCommand(args []string) error {
	secret, err := webhooksig.DecodeSecret(os.Getenv("SHOP_WEBHOOK_SECRET"))
	if err != nil {
		return err
	}
	age, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	id, at, body := args[1], time.Now().Add(-age), args[3]
	return httpCommand([]string{
		http.MethodPost, args[0], "Webhook-Id:" + id, "Webhook-Timestamp:" + strconv.FormatInt(at.Unix(), 10),
		"Webhook-Signature:" + webhooksig.Sign(secret, id, at, []byte(body)), body,
	})
}

// pagesCommand serves the files of a directory: see TestScripts.
func pagesCommand(args []string) error {
	files := http.FileServer(http.Dir(args[0]))
	return serveSample("pages", args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch _, err := r.Cookie("sid"); {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/form.html", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/private") && err != nil:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			maps.Copy(w.Header(), r.URL.Query()) // such as Content-Encoding=gzip
			http.SetCookie(w, &http.Cookie{Name: "wordpress_logged_in_x", Value: "1"})
			files.ServeHTTP(w, r)
		}
	}))
}

// upstreamCommand is an application without idempotency. It writes a line to its log for everything it executes. It
// never answers a POST to /slow, and answers one to /held after a request for /release.
func upstreamCommand(args []string) error {
	log, err := os.OpenFile(args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var orders atomic.Int64
	release := make(chan struct{})
	return serveSample("upstream", args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if r.URL.Path == "/release" {
				close(release)
			}
			fmt.Fprintln(w, "hello")
			return
		}
		body, _ := io.ReadAll(r.Body)
		n := orders.Add(1)
		fmt.Fprintf(log, "executed %d %s %s\n", n, r.URL.Path, body)
		switch r.URL.Path {
		case "/slow":
			<-r.Context().Done()
			return
		case "/held":
			<-release
		}
		w.Header().Set("Location", fmt.Sprintf("/orders/%d", n))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "order %d\n", n)
	}))
}
