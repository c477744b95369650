package cli

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

// LogFlags are the log flags of every verb.
type LogFlags struct {
	format string
	level  string
}

// Register adds the flags to every verb.
func (f *LogFlags) Register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&f.format, "log-format", "auto", "`format` of the log on stderr: text, json, or auto (text on a terminal, json elsewhere)")
	flags.StringVar(&f.level, "log-level", "info", "lowest `level` to log: debug, info, warn or error")
}

// Logger returns the log of this process, on stderr.
func (f *LogFlags) Logger(p *Process) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, Usagef("--log-level %q must be debug, info, warn or error", f.level)
	}
	opts := &slog.HandlerOptions{Level: level}
	text := f.format == "text"
	switch f.format {
	case "text", "json":
	case "auto":
		text = IsTerminal(p.Stderr)
	default:
		return nil, Usagef("--log-format %q must be text, json or auto", f.format)
	}
	if text {
		return slog.New(slog.NewTextHandler(p.Stderr, opts)), nil
	}
	out := &wholeLines{to: p.Stderr}
	return slog.New(&jsonLog{Handler: slog.NewJSONHandler(out, opts), out: out}), nil
}

// Capture redirects package log, which libraries use, to the log, at debug level and without quotations: net/http
// quotes unsolicited answers.
func Capture(to *slog.Logger) {
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

// IsTerminal reports whether a person is likely to read the output.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}
