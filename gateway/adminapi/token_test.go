package adminapi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway/adminapi"
)

// write makes a file of tokens.
func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "admin-tokens")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return file
}

func TestLoadTokens(t *testing.T) {
	t.Parallel()
	const text = "# who may operate\n\n  alice " + aliceToken + "\r\n\trobin\t" + robinToken + "  read\n#eve " + aliceToken + "\nzoë " + aliceToken + "2"
	for _, mode := range []os.FileMode{0o600, 0o400, 0o640, 0o440} {
		tokens, err := adminapi.LoadTokens(write(t, text, mode))
		if err != nil {
			t.Fatalf("%o: %v", mode, err)
		}
		got := ""
		for _, token := range tokens {
			got += fmt.Sprintf("%v %v;", token, token.ReadOnly)
		}
		if want := "alice false;robin true;zoë false;"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if text := fmt.Sprintf("%+v", tokens); strings.Contains(text, "0123456789") {
			t.Errorf("a token shows its secret: %s", text)
		}
	}
}

// TestLoadTokensRefuses names the line, and never repeats its content.
func TestLoadTokensRefuses(t *testing.T) {
	t.Parallel()
	good := "alice " + aliceToken + "\n"
	for text, want := range map[string]string{
		"":                                "holds no token",
		"# nothing\n":                     "holds no token",
		good + "robin " + robinToken[:31]: ":2: the token has 31 characters",
		good + "robin " + strings.Repeat("secret", 100): ":2: the token has 600 characters",
		good + robinToken:                                  ":2: a line is a name and a token",
		good + "robin " + robinToken + " write":            ":2: a line is a name and a token",
		good + "robin " + robinToken + " read 0123456789":  ":2: a line is a name and a token",
		good + "robin " + strings.Repeat("é", 40):          ":2: the token holds characters other than visible ASCII",
		good + strings.Repeat("r", 129) + " " + robinToken: ":2: the operator's name has 129 bytes",
		good + "ro\x01bin " + robinToken:                   ":2: the operator's name holds",
		good + "ro\xffbin " + robinToken:                   ":2: the operator's name holds",
		good + "\nalice " + robinToken:                     ":3: the name is already in line 1",
		good + "robin " + aliceToken + " read":             ":2: the token is already in line 1",
		good + robinToken + " robin":                       ":2: the token has 5 characters",
		strings.Repeat("#", 1<<20) + "\n":                  "larger than",
	} {
		tokens, err := adminapi.LoadTokens(write(t, text, 0o600))
		if err == nil || len(tokens) > 0 || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "0123456789") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60q: got %v, want %q and no token", text, err, want)
		}
	}
	many := ""
	for i := range adminapi.MaxTokens + 1 {
		many += fmt.Sprintf("o%d %s-%d\n", i, aliceToken, i)
	}
	if _, err := adminapi.LoadTokens(write(t, many, 0o600)); err == nil || !strings.Contains(err.Error(), ":1001: there are more than 1000") {
		t.Errorf("too many: got %v", err)
	}
	if _, err := adminapi.LoadTokens(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestLoadTokensFromOpenFile refuses what others can read.
func TestLoadTokensFromOpenFile(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o644, 0o604, 0o660, 0o602, 0o601} {
		file := write(t, "alice "+aliceToken+"\n", mode)
		if _, err := adminapi.LoadTokens(file); err == nil || !strings.Contains(err.Error(), "chmod 600 "+file) {
			t.Errorf("%o: got %v", mode, err)
		}
	}
}
