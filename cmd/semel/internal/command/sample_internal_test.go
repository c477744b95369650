package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/semel-dev/semel/examples/invoices"
	safeinvoices "github.com/semel-dev/semel/examples/invoices/protected"
	"github.com/semel-dev/semel/examples/mathematicians"
)

// sampleApplication is one of the examples.
type sampleApplication interface {
	http.Handler
	io.Closer
}

// withHandler makes a sample of an example that has a handler.
type withHandler struct {
	http.Handler
	io.Closer
}

// sampleCommand serves an example: "invoices", which ignores keys, its twin "protected", or "mathematicians", with its
// database in a file. It writes its URL to the ready file under that name.
func sampleCommand(args []string) error {
	app, err := openSample(args[0])
	if err != nil {
		return err
	}
	return errors.Join(serveSample(args[0], args[1], app), app.Close())
}

// serveSample serves a handler, whose URL it writes to the ready file under that name.
func serveSample(name, ready string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := os.WriteFile(ready, []byte(name+"=http://"+listener.Addr().String()+"\n"), 0o600); err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: handler}
	return server.Serve(listener)
}

func openSample(name string) (sampleApplication, error) {
	switch name {
	case "invoices":
		app, err := invoices.Open("invoices.db", &invoices.Options{Latency: -1})
		if err != nil {
			return nil, err
		}
		return withHandler{app.Handler(), app}, nil
	case "protected":
		app, err := safeinvoices.Open("protected.db", nil)
		if err != nil {
			return nil, err
		}
		return withHandler{app.Handler(), app}, nil
	case "mathematicians":
		return mathematicians.Open("mathematicians.db", nil)
	}
	return nil, fmt.Errorf("unknown example %q", name)
}
