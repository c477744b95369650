package effects_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/check/effects"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "order n-16\norder n-17\nnoise\norder n-17")
	all, err := effects.Lines(path, "")
	counts(t, all, err, same, 4, "")
	some, err := effects.Lines(path, "order")
	counts(t, some, err, same, 3, "")
	one, err := effects.Lines(path, "n-{{n}}")
	counts(t, one, err, of17, 2, "")
	if all.PerIntent() || !one.PerIntent() {
		t.Error("what is counted for one intent is mistaken")
	}
	write(t, path, "order n-16\n")
	counts(t, all, nil, same, 0, "became shorter")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	counts(t, some, nil, same, 0, "create it before the run")
	write(t, path, strings.Repeat("order\n", 100))
	counts(t, some, nil, same, 0, "was replaced during the run")
	fresh, err := effects.Lines(path, "")
	counts(t, fresh, err, same, 100, "")
	write(t, path, strings.Repeat("x", 2<<20))
	counts(t, fresh, err, same, 0, "count lines of at most")
	_, err = effects.Lines("", "")
	counts(t, nil, err, same, 0, "name of the file is missing")
	folder, err := effects.Lines(t.TempDir(), "")
	counts(t, folder, err, same, 0, "cannot be read repeatedly")
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  []string
		want  int64
		words string
	}{
		{[]string{"echo", "12"}, 12, ""},
		{[]string{"echo", "{{n}}"}, 17, ""},
		{[]string{"echo", "12 orders"}, 0, "one number and nothing else"},
		{[]string{"sh", "-c", "echo no such table >&2; exit 3"}, 0, "exit status 3 no such table"},
		{[]string{"/absent/program"}, 0, "run the command"},
		{[]string{"echo", "{{m}}"}, 0, "unknown place {{m}}"},
		{nil, 0, "command that prints the count is missing"},
	} {
		o, err := effects.Command(test.args...)
		counts(t, o, err, of17, test.want, test.words)
	}
	o, err := effects.Command("/usr/bin/mysql", "-ps3cret")
	if err != nil || o.Name() != "the output of mysql" {
		t.Errorf("the name is %q", o.Name())
	}
}
