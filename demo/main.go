// Demo shows the problem and the solution in a browser: one button, without Semel, with its script, and behind its gateway, with a form and without. It is
// "semel demo" in a program of its own, which compiles in half the time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/semel-dev/semel/demo/stage"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` of the page; the copies and the console use the next six ports, or any free ones")
	once := flag.Bool("once", false, "play the scenarios without a browser, print the table, and exit")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unknown argument %q (see --help)\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *listen, *once, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen string, once bool, out io.Writer) error {
	if once {
		listen = "" // the page is not used
	}
	d, err := stage.Start(ctx, &stage.Options{Listen: listen})
	if err != nil && once {
		return err
	} else if err != nil {
		return fmt.Errorf("%w (choose another address with --listen, or any free port with --listen 127.0.0.1:0)", err)
	}
	if once {
		var results []stage.Result
		if results, err = d.Play(ctx, nil); err == nil {
			_, err = io.WriteString(out, stage.Table(results, false))
		}
		if err == nil && slices.ContainsFunc(results, func(r stage.Result) bool { return !r.Once() }) {
			err = errors.New("not everything happened exactly once behind the gateway")
		}
	} else if _, err = io.WriteString(out, d.Welcome()); err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, d.Stop(ctx))
}
