package command

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/semel-dev/semel/internal/cli"
)

// address is a named URL of a server.
type address struct{ name, url string }

// announce writes the addresses to a file that appears complete, for programs that wait for it. No name means no file.
func announce(name string, addresses []address) error {
	if name == "" {
		return nil
	}
	var text strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&text, "%s=%s\n", a.name, a.url)
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), ".ready-*")
	if err != nil {
		return cli.Usage(fmt.Errorf("write the ready file: %w", err))
	}
	_, err = temporary.WriteString(text.String())
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // the error is reported below
		return cli.Usage(fmt.Errorf("write the ready file: %w", err))
	}
	return nil
}

// warnOpen warns in the log that other machines can reach an address.
func warnOpen(ctx context.Context, log *slog.Logger, flag, value string) {
	host, _, err := net.SplitHostPort(value)
	if err != nil || host == "localhost" {
		return
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return
	}
	log.LogAttrs(ctx, slog.LevelWarn, "reachable from other machines", slog.String("flag", "--"+flag), slog.String("address", value))
}
