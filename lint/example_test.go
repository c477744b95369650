package lint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/semel-dev/semel/lint"
)

func ExampleRun() {
	folder, err := os.MkdirTemp("", "lint")
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "stock.sql")
	if err := os.WriteFile(file, []byte("CREATE TABLE stock (item text PRIMARY KEY, n int NOT NULL);\nUPDATE stock SET n = n - 1 WHERE item = $1;\n"), 0o600); err != nil {
		log.Panic(err)
	}
	found, err := lint.Run(context.Background(), []string{file}, &lint.Options{Dialect: "postgresql", Schema: []string{file}})
	if err != nil {
		log.Panic(err)
	}
	for _, f := range found {
		fmt.Printf("line %d is %s: %s\n", f.Line, f.Verdict, f.Why)
	}
	// Output:
	// line 1 is safe: a second run is refused: the object exists
	// line 2 is not safe: each run changes n again: it is computed from the old value
}
