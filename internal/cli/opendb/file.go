package opendb

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/semel-dev/semel/internal/dialect"
)

func openSQLite(path string, use Use) (*Database, error) {
	switch {
	case path == "":
		return nil, fmt.Errorf("%w: sqlite needs a file (write sqlite:PATH, such as sqlite:shop.db)", ErrDSN)
	case path == ":memory:":
		return nil, fmt.Errorf("%w: a database in memory is empty and ends with this process (name the application's file)", ErrDSN)
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return nil, fmt.Errorf("%w: sqlite takes a path, not an address (write sqlite:shop.db, or sqlite:/var/lib/shop/shop.db)", ErrDSN)
	case strings.Contains(path, "?"):
		return nil, fmt.Errorf("%w: sqlite takes no parameters (write sqlite:PATH, such as sqlite:shop.db)", ErrDSN)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("database: file %s does not exist (name the application's own with --dsn sqlite:PATH)", path)
	case err != nil:
		return nil, fmt.Errorf("database: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("database: %s is a directory (name the file in it)", path)
	}
	source := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	query := url.Values{"_pragma": {"busy_timeout(" + strconv.FormatInt(lockTimeout.Milliseconds(), 10) + ")", "foreign_keys(1)"}}
	if use == Read {
		query.Set("mode", "ro")
		query.Add("_pragma", "query_only(1)")
	} else {
		query.Set("mode", "rw")
		query.Set("_txlock", "immediate")
	}
	source.RawQuery = query.Encode()
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("database: open %s: %w", path, err)
	}
	return &Database{DB: db, Dialect: dialect.SQLite}, nil
}
