package adminapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/secretfile"
	"github.com/semel-dev/semel/operator"
)

const (
	// MinTokenBytes is the shortest token.
	MinTokenBytes = 32
	// MaxTokenBytes is the longest token.
	MaxTokenBytes = 512
	// MaxTokens bounds the tokens of an API.
	MaxTokens = 1000
	// maxTokensFile bounds a file of tokens, comments included.
	maxTokensFile = 1 << 20
	// tooOpen are the permissions that a file of tokens must not have: others may
	// do nothing with it, and its group may not write.
	tooOpen = 0o027

	roleRead = "read"
)

// Token lets one operator in. It holds a hash: the token itself is not kept.
// Make one with [NewToken] or [LoadTokens].
type Token struct {
	// Name names the operator in the audit trail and in logs.
	Name string
	// ReadOnly allows no changes.
	ReadOnly bool

	hash [sha256.Size]byte
}

// String returns the name.
func (t Token) String() string { return t.Name }

// NewToken returns the token of an operator. The secret has MinTokenBytes to
// MaxTokenBytes characters of visible ASCII, and should be random. Errors never
// carry it.
func NewToken(name, secret string, readOnly bool) (Token, error) {
	switch {
	case name == "":
		return Token{}, errors.New("the operator has no name")
	case len(name) > operator.MaxIdentityBytes:
		return Token{}, fmt.Errorf("the operator's name has %d bytes, at most %d are kept", len(name), operator.MaxIdentityBytes)
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7F || r == '\uFFFD' }):
		return Token{}, errors.New("the operator's name holds a space or a control character, or is not UTF-8")
	case len(secret) < MinTokenBytes:
		return Token{}, fmt.Errorf("the token has %d characters, at least %d are needed (make one with: openssl rand -hex 32)", len(secret), MinTokenBytes)
	case len(secret) > MaxTokenBytes:
		return Token{}, fmt.Errorf("the token has %d characters, at most %d are read", len(secret), MaxTokenBytes)
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Token{}, errors.New("the token holds characters other than visible ASCII (make one with: openssl rand -hex 32)")
	}
	return Token{Name: name, ReadOnly: readOnly, hash: sha256.Sum256([]byte(secret))}, nil
}

// LoadTokens reads a file of tokens. A line is "NAME TOKEN", or "NAME TOKEN
// read" for a token that may only look; empty lines and lines that start with #
// are skipped. A file that others than its owner and group can read is refused.
// Errors name file and line, and never repeat its content.
func LoadTokens(file string) ([]Token, error) {
	f, info, err := secretfile.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the admin tokens: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read.
	if open := info.Mode().Perm() & tooOpen; open != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("read the admin tokens: others can reach %s, its mode is %04o (run: chmod 600 %s)", file, info.Mode().Perm(), file)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokensFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the admin tokens: %w", err)
	case len(text) > maxTokensFile:
		return nil, fmt.Errorf("read the admin tokens: %s is larger than %d bytes", file, maxTokensFile)
	}
	tokens, err := parseTokens(file, string(text))
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s holds no token (a line is: NAME TOKEN, and openssl rand -hex 32 makes a token)", file)
	}
	return tokens, nil
}

// followEvery is the time between two looks at a file of tokens.
const followEvery = 10 * time.Second

// Follow lets in the operators of a file of tokens as it changes, until ctx ends: it looks every ten seconds, and when asked. A token
// that is gone, or has another role, is refused from then on, and the sessions of the console that it began are over. A file that cannot be used
// changes nothing; the log says why, once for each reason.
func (a *API) Follow(ctx context.Context, file string, asked <-chan struct{}) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-asked:
		}
		tokens, err := LoadTokens(file)
		if err == nil {
			err = checkTokens(tokens)
		}
		switch {
		case err != nil && err.Error() != said:
			said = err.Error()
			a.log.LogAttrs(ctx, slog.LevelError, "admin tokens were not read again, the former ones are in force", slog.Any("error", err))
		case err == nil && !slices.Equal(tokens, *a.tokens.Load()):
			a.tokens.Store(&tokens)
			a.log.LogAttrs(ctx, slog.LevelInfo, "admin tokens were read again", slog.Int("tokens", len(tokens)))
		}
		if err == nil {
			said = ""
		}
	}
}

// Knows reports whether the token lets its operator in.
func (a *API) Knows(t Token) bool { return slices.Contains(*a.tokens.Load(), t) }

func parseTokens(file, text string) ([]Token, error) {
	var (
		tokens []Token
		lines  []int
	)
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		readOnly := len(fields) == 3 && fields[2] == roleRead
		if len(fields) < 2 || (len(fields) > 2 && !readOnly) {
			return nil, fmt.Errorf("%s:%d: a line is a name and a token, and may end with the word %s", file, number, roleRead)
		}
		token, err := NewToken(fields[0], fields[1], readOnly)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		for i := range tokens {
			if what := clash(&tokens[i], &token); what != "" {
				return nil, fmt.Errorf("%s:%d: the %s is already in line %d", file, number, what, lines[i])
			}
		}
		tokens, lines = append(tokens, token), append(lines, number)
		if len(tokens) > MaxTokens {
			return nil, fmt.Errorf("%s:%d: there are more than %d tokens", file, number, MaxTokens)
		}
	}
	return tokens, nil
}

// clash names what two tokens must not share but do.
func clash(a, b *Token) string {
	switch {
	case a.Name == b.Name:
		return "name"
	case a.hash == b.hash:
		return "token"
	}
	return ""
}
