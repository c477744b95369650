package gateway

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
)

// quietly returns an error's text without what it quotes. net/http quotes the
// bytes of an answer or a request that it cannot read, and those may hold a
// secret; logs and notes get the rest.
func quietly(err error) string { return unquoted(err.Error()) }

// unquoted cuts a text before its first quotation.
func unquoted(text string) string {
	said, _, quotes := strings.Cut(text, `"`)
	if !quotes {
		return text
	}
	return strings.TrimRight(said, " :(") + " (what it quotes is left out)"
}

// newErrorLog is for what net/http has to say, at debug level.
func newErrorLog(to *slog.Logger) *log.Logger {
	return log.New(&quietWriter{under: slog.NewLogLogger(to.Handler(), slog.LevelDebug)}, "", 0)
}

// quietWriter gets one message at a time.
type quietWriter struct{ under *log.Logger }

// Write implements io.Writer.
func (w *quietWriter) Write(line []byte) (int, error) {
	w.under.Print(unquoted(string(bytes.TrimRight(line, "\n"))))
	return len(line), nil
}
