package command

import (
	"context"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// logFlags are the log flags of every verb.
type logFlags struct {
	format string
	level  string
}

func (f *logFlags) register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&f.format, "log-format", "auto", "`format` of the log on stderr: text, json, or auto (text on a terminal, json elsewhere)")
	flags.StringVar(&f.level, "log-level", "info", "lowest `level` to log: debug, info, warn or error")
}

// logger returns the log of this process, on stderr.
func (f *logFlags) logger(p *process) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, usagef("--log-level %q must be debug, info, warn or error", f.level)
	}
	opts := &slog.HandlerOptions{Level: level}
	text := f.format == "text"
	switch f.format {
	case "text", "json":
	case "auto":
		text = isTerminal(p.stderr)
	default:
		return nil, usagef("--log-format %q must be text, json or auto", f.format)
	}
	if text {
		return slog.New(slog.NewTextHandler(p.stderr, opts)), nil
	}
	return slog.New(slog.NewJSONHandler(p.stderr, opts)), nil
}

// capture redirects package log, which libraries use, to the log, at debug level and without quotations: net/http
// quotes unsolicited answers.
func capture(to *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(captured{to})
}

type captured struct{ to *slog.Logger }

// Write implements io.Writer.
func (c captured) Write(line []byte) (int, error) {
	said, _, _ := strings.Cut(strings.TrimRight(string(line), "\n"), `"`)
	c.to.LogAttrs(context.Background(), slog.LevelDebug, "message of a library", slog.String("text", said))
	return len(line), nil
}

// isTerminal reports whether a person is likely to read the output.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}
