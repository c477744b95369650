package ids_test

import (
	"bytes"
	"database/sql"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	html "html/template"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	text "text/template"

	"github.com/goccy/go-yaml"
	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel/ids"
)

const secretNumber = 8675309

type row struct {
	ID     ids.Internal
	hidden ids.Internal
	Name   string
}

type attribute struct {
	ID ids.Internal `xml:"id,attr"`
}

// Whatever prints, logs or encodes an internal number shows or refuses it, and the digits are nowhere.
func TestInternalStaysInside(t *testing.T) {
	t.Parallel()
	id := ids.NewInternal(secretNumber)
	r := row{ID: id, hidden: id, Name: "Ada"}
	shown := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%x", "%s", "%q", "%o", "%b", "%08d", "%U", "%c", "%t"} {
		shown["fmt "+verb] = fmt.Sprintf(verb, id)
		shown["fmt of a row "+verb] = fmt.Sprintf(verb, r)
		shown["fmt of rows "+verb] = fmt.Sprintf(verb, []*row{&r, {hidden: id}})
		shown["fmt of a map "+verb] = fmt.Sprintf(verb, map[ids.Internal]ids.Internal{id: id})
	}
	shown["Sprint"] = fmt.Sprint(id, &id, r)
	shown["error"] = fmt.Errorf("row %v", id).Error()
	log := func(handler func(*bytes.Buffer) slog.Handler) string {
		var b bytes.Buffer
		slog.New(handler(&b)).Info("found", slog.Any("id", id), slog.Any("row", r), slog.Any("list", []ids.Internal{id}))
		return b.String()
	}
	shown["slog text"] = log(func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) })
	shown["slog JSON"] = log(func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) })
	const page = `<a href="/x/{{.ID}}" onclick="f({{.ID}})">{{.ID}} {{printf "%d" .ID}}</a>`
	var out strings.Builder
	_ = html.Must(html.New("").Parse(page)).Execute(&out, r) // an error is as good as a page
	_ = text.Must(text.New("").Parse(page)).Execute(&out, r)
	shown["templates"] = out.String()
	for how, got := range shown {
		if digits := fmt.Sprint(secretNumber); strings.Contains(got, digits) || strings.Contains(got, fmt.Sprintf("%x", secretNumber)) ||
			strings.Contains(got, fmt.Sprintf("%o", secretNumber)) || strings.Contains(got, fmt.Sprintf("%b", secretNumber)) {
			t.Errorf("%s shows the number: %s", how, got)
		}
	}
	if got := fmt.Sprintf("%d", id); got != "[internal]" {
		t.Errorf("got %s, want [internal]", got)
	}
	for how, encode := range map[string]func() error{
		"JSON":         func() error { _, err := json.Marshal(r); return err },
		"a pointer":    func() error { _, err := json.Marshal(&id); return err },
		"a JSON key":   func() error { _, err := json.Marshal(map[ids.Internal]int{id: 1}); return err },
		"XML":          func() error { _, err := xml.Marshal(id); return err },
		"an attribute": func() error { _, err := xml.Marshal(attribute{id}); return err },
		"gob":          func() error { return gob.NewEncoder(new(bytes.Buffer)).Encode(&id) },
		"YAML":         func() error { _, err := yaml.Marshal(r); return err },
		"from JSON":    func() error { return json.Unmarshal([]byte(`{"ID":1}`), &row{}) },
		"from text":    func() error { return xml.Unmarshal([]byte(`<row><ID>1</ID></row>`), &row{}) },
	} {
		if err := encode(); !errors.Is(err, ids.ErrInternal) && (err == nil || !strings.Contains(err.Error(), ids.ErrInternal.Error())) {
			t.Errorf("%s: got %v, want ErrInternal", how, err)
		}
	}
}

// To and from a database it is an integer.
func TestInternalInADatabase(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want := ids.NewInternal(secretNumber)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY, parent INTEGER) STRICT"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (?, ?)", want, ids.Internal{}); err != nil {
		t.Fatal(err)
	}
	var got, none ids.Internal
	var kind string
	err = db.QueryRowContext(t.Context(), "SELECT id, parent, typeof(id) FROM t WHERE id = ?", want).Scan(&got, &none, &kind)
	if err != nil || got != want || got.Reveal() != secretNumber || !none.IsZero() || none.Reveal() != 0 || kind != "integer" {
		t.Errorf("got %d, %d of %s: %v", got.Reveal(), none.Reveal(), kind, err)
	}
	if err := got.Scan([]byte("12")); err != nil || got.Reveal() != 12 {
		t.Errorf("got %d, %v", got.Reveal(), err)
	}
	for _, wrong := range []any{"12", 1.5, []byte("x"), []byte("")} {
		if err := got.Scan(wrong); err == nil || strings.Contains(err.Error(), "12") {
			t.Errorf("a %T was scanned, or shown: %v", wrong, err)
		}
	}
}
