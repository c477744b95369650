// Command services is one shop, three times: with the middleware that its first argument names, on the port that its
// second one names.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments, want the name of a middleware and a port", len(args))
	}
	s, err := openShop()
	if err != nil {
		return err
	}
	address := "127.0.0.1:" + args[1]
	switch args[0] {
	case "fiber-v2":
		return fiberV2(s, address)
	case "fiber-v3":
		return fiberV3(s, address)
	case "moov-base":
		return moovBase(s, address)
	}
	return fmt.Errorf("unknown middleware %q", args[0])
}

// shop carries orders out. It is safe for concurrent use.
type shop struct {
	mu     sync.Mutex // guards the fields below
	orders int
	book   *os.File // a line for each order, which outlives the process
}

func openShop() (*shop, error) {
	book, err := os.OpenFile("orders.txt", os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	before, err := io.ReadAll(book)
	return &shop{orders: bytes.Count(before, []byte("\n")), book: book}, err
}

// one is an order.
type one struct {
	ID    int    `json:"id"`
	Owner string `json:"owner"`
	Item  string `json:"item"`
}

// work is the time that an order takes.
const work = 30 * time.Millisecond

// order returns the status and the answer of an order. A request is recognised by its Authorization header.
func (s *shop) order(authorization, item string) (int, any) {
	owner := map[string]string{"Bearer ann": "ann", "Bearer bob": "bob"}[authorization]
	switch {
	case owner == "":
		return http.StatusUnauthorized, map[string]string{"error": "who are you?"}
	case item == "":
		return http.StatusUnprocessableEntity, map[string]string{"error": "which item?"}
	}
	<-time.After(work)
	if strings.HasPrefix(item, "cursed") {
		return http.StatusInternalServerError, map[string]string{"error": "out of order"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintln(s.book, item); err != nil {
		return http.StatusInternalServerError, map[string]string{"error": "out of paper"}
	}
	s.orders++
	return http.StatusCreated, one{s.orders, owner, item}
}

func (s *shop) count() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int{"total": s.orders}
}
