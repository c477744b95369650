package mysql_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/mysql"
	"github.com/semel-dev/semel/lint/internal/tree"
)

var update = flag.Bool("update", false, "write the trees of testdata as they are now")

// arrow is before each tree in the files of testdata, which are texts and the trees of their statements.
const arrow = "\n-> "

// TestTrees compares the trees of all texts in testdata.
func TestTrees(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			var now strings.Builder
			for _, block := range blocks(t, file) {
				text, _, _ := strings.Cut(block, arrow)
				got := text
				for _, p := range mysql.Parse(text) {
					got += arrow + dump(p.Statement)
				}
				if got != block && !*update {
					t.Errorf("got\n%s\nwant\n%s", got, block)
				}
				now.WriteString(got + "\n\n")
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.TrimSuffix(now.String(), "\n")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func blocks(tb testing.TB, file string) []string {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n\n")
}

// TestTranslatesAll counts what the corpora leave opaque or raw: only what must be.
func TestTranslatesAll(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"testdata/corpus.txt": {
			"UPDATE LOW_PRIORITY IGNORE t SET n=5",
			"UPDATE t JOIN s ON s.id=t.id SET t.n=s.v, s.v=0 WHERE t.n<>s.v",
			"UPDATE t SET n=(@x:=@x+1) ORDER BY id",
			"DELETE FROM t, s USING t INNER JOIN s ON t.id=s.id",
			"LOAD DATA LOCAL INFILE 'x.csv' INTO TABLE t FIELDS TERMINATED BY ','",
			"CALL do_it(1)",
		},
		"testdata/truth.txt": {"call p_inc()"},
	} {
		var got []string
		for _, block := range blocks(t, file) {
			text, _, _ := strings.Cut(block, arrow)
			all := mysql.Parse(text)
			if len(all) != 1 {
				t.Errorf("%d statements in %s", len(all), text)
				continue
			}
			if d := dump(all[0].Statement); strings.Contains(d, "Opaque") || strings.Contains(d, "RAW") || strings.Contains(d, "Unknown") {
				got = append(got, text)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: not translated:\n%s", file, strings.Join(got, "\n"))
		}
	}
}

// TestPlaces checks where statements start and end in a text.
func TestPlaces(t *testing.T) {
	t.Parallel()
	text := " -- one;\nSELECT 'a;b' /* ; */ ;; /*!40101 SET NAMES utf8 */; \ndelimiter //\n" +
		"CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a=1; END// delimiter ;\n" +
		"INSERT INTO t VALUES (:é) RETURNING id # end"
	want := []string{
		"SELECT 'a;b'", "/*!40101 SET NAMES utf8",
		"CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a=1; END", "INSERT INTO t VALUES (:é) RETURNING id",
	}
	got := mysql.Parse(text)
	if len(got) != len(want) {
		t.Fatalf("got %d statements, want %d", len(got), len(want))
	}
	for i, p := range got {
		if text[p.Start:p.End] != want[i] {
			t.Errorf("got %q, want %q", text[p.Start:p.End], want[i])
		}
	}
}

// TestExpression reads expressions as the catalogs print them, but for their quotes.
func TestExpression(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"`a` is null":                          "(is null a)",
		"json_valid(`doc`)":                    "json_valid(doc)",
		"(`a` > _utf8mb4'x')":                  `(> a, "x")`,
		"current_timestamp(6)":                 "now(6)",
		"if(`m` is null,1,NULL) -- a comment":  "if((is null m), 1, null)",
		"'it''s'":                              `"it's"`,
		"lower(`a`) collate utf8mb4_0900_bin ": "cast(lower(a) as collate utf8mb4_0900_bin)",
		"nextval(`db`.`sq`)":                   `nextval("db.sq")`,
	} {
		s, ok := mysql.Parse("SELECT (" + text + "\n)")[0].Statement.(*tree.Select)
		if !ok || dump(s.Items[0].Expr) != want {
			t.Errorf("%s: got %+v, want %s", text, s, want)
		}
	}
}

// TestExcess refuses in short time what would keep the parser busy or end the process.
func TestExcess(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"select " + strings.Repeat("(", 1e6), "select " + strings.Repeat("- ", 1e6), "select " + strings.Repeat("interval(", 100),
		"select " + strings.Repeat("case when ", 1e5), strings.Repeat("select 1 union ", 1e5) + "select 1",
		"select * from t" + strings.Repeat(" join t using (a)", 1e5), "select " + strings.Repeat("a+", 1e5) + "a",
		"select " + strings.Repeat("not ", 1e6) + "a", "select 1 \x00; delete from t",
	} {
		for _, p := range mysql.Parse(text)[:1] {
			if _, ok := p.Statement.(*tree.Opaque); !ok {
				t.Errorf("%.40s…: got %.200s", text, dump(p.Statement))
			}
		}
	}
	long := mysql.Parse("insert into t values " + strings.Repeat("(1,-2,'a'),", 1e4) + "(?)")
	if _, ok := long[0].Statement.(*tree.Insert); !ok || len(long) != 1 {
		t.Errorf("got %.200s for a long insert", dump(long))
	}
}
