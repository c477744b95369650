package cli

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"
)

// TestCaptured: messages of libraries through package log reach the log at debug level, without the bytes that they
// quote.
func TestCaptured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	handler := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})
	log.New(captured{slog.New(handler)}, "", 0).Printf("Unsolicited response received on idle HTTP channel starting with %q; err=%v", "s3cr3t", nil)
	if text := out.String(); strings.Contains(text, "s3cr3t") || !strings.Contains(text, "level=DEBUG") || !strings.Contains(text, "Unsolicited response") {
		t.Errorf("got %s", text)
	}
}
