// Command client keeps a queue of mathematicians and papers, and sends it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/semel-dev/semel/examples/mathematicians/client"
)

const (
	exitRefused     = 1
	exitUsage       = 2
	exitUnreachable = 3

	usage = `client keeps what you create on this disk, and sends it when it can.

  client [flags] add [--ref REF] [--author REF] TEXT   a mathematician, or with --author a paper; prints its ref
  client [flags] list                                  what waits, what is done, what was refused
  client [flags] stock N                               fetches N ids of each kind, to add without a network
  client [flags] sync [--for DURATION]                 sends until nothing waits

Flags: --queue FILE (default mathematicians-queue.db), --server URL (default http://127.0.0.1:9200).
Exit codes: 0 fine, 1 something was refused or failed, 2 usage, 3 the server could not be reached in time.
`
)

var (
	// errUsage means that the arguments were wrong.
	errUsage = errors.New("wrong usage (run: client -h)")
	// errRefused means that the server refused something.
	errRefused = errors.New("some entries were refused (run: client list)")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(exitCode(err))
	}
}

func exitCode(err error) int {
	switch {
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return exitUnreachable
	}
	return exitRefused
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := newFlags("client", stderr)
	path := flags.String("queue", "mathematicians-queue.db", "")
	server := flags.String("server", "http://127.0.0.1:9200", "")
	if done, err := parse(flags, args, stdout); done {
		return err
	}
	if flags.NArg() == 0 {
		return errUsage
	}
	queue, err := client.Open(*path, *server, nil) //nolint:contextcheck // Open takes none; it bounds itself
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	switch verb, rest := flags.Arg(0), flags.Args()[1:]; verb {
	case "add":
		return add(ctx, queue, rest, stdout, stderr)
	case "list":
		return list(ctx, queue, stdout)
	case "stock":
		var n int
		if len(rest) != 1 {
			return errUsage
		}
		if _, err := fmt.Sscanf(rest[0], "%d", &n); err != nil || n < 1 || n > client.MaxStock {
			return fmt.Errorf("%w: stock 1 to %d", errUsage, client.MaxStock)
		}
		return queue.Stock(ctx, n)
	case "sync":
		return sync(ctx, queue, rest, stdout, stderr)
	}
	return fmt.Errorf("%w: %q is not a verb", errUsage, flags.Arg(0))
}

func newFlags(name string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {}
	return flags
}

// parse reports whether there is nothing more to do.
func parse(flags *flag.FlagSet, args []string, stdout io.Writer) (done bool, err error) {
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, err = io.WriteString(stdout, usage)
		return true, err
	case err != nil:
		return true, errUsage
	}
	return false, nil
}

func add(ctx context.Context, queue *client.Queue, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("add", stderr)
	e := client.Entry{Kind: client.Mathematician}
	flags.StringVar(&e.Ref, "ref", "", "")
	flags.StringVar(&e.Parent, "author", "", "")
	if done, err := parse(flags, args, stdout); done {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%w: add takes one name or title", errUsage)
	}
	if e.Text = flags.Arg(0); e.Parent != "" {
		e.Kind = client.Paper
	}
	kept, err := queue.Add(ctx, e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, kept.Ref)
	return err
}

func list(ctx context.Context, queue *client.Queue, stdout io.Writer) error {
	entries, err := queue.List(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "REF\tKIND\tSTATE\tUNIQUE\tTEXT\tREASON") // Flush tells
	for _, e := range entries {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", e.Ref, e.Kind, e.State, e.Unique, e.Text, e.Reason)
	}
	return table.Flush()
}

func sync(ctx context.Context, queue *client.Queue, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("sync", stderr)
	patience := flags.Duration("for", 0, "")
	if done, err := parse(flags, args, stdout); done {
		return err
	}
	if flags.NArg() > 0 || *patience < 0 {
		return errUsage
	}
	if *patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *patience)
		defer cancel()
	}
	counts, err := queue.Sync(ctx)
	if errors.Is(err, client.ErrSending) {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "%d done, %d waiting, %d refused\n", counts.Done, counts.Waiting, counts.Refused)
	if err == nil && counts.Refused > 0 {
		return errRefused
	}
	return err
}
