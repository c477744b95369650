package dbserver

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// copyTo gives a standby the data of this server while it runs, and makes it a standby. It does what pg_basebackup does, which not
// every distribution of PostgreSQL contains; the log from then on comes from the primary.
func (s *Postgres) copyTo(ctx context.Context, standby *Postgres) (err error) {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	begin, end := "SELECT pg_backup_start('standby', true)", "SELECT labelfile FROM pg_backup_stop(false)"
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return err
	}
	if version < 150000 {
		begin, end = "SELECT pg_start_backup('standby', true, false)", "SELECT labelfile FROM pg_stop_backup(false, false)"
	}
	//semel:safe a second run is refused: the session makes a backup already
	if _, err := conn.Exec(ctx, begin); err != nil {
		return err
	}
	if err := copyData(standby.as, s.data, standby.data); err != nil {
		return err
	}
	var label string
	//semel:safe a second run is refused: the session makes no backup any more
	if err := conn.QueryRow(ctx, end).Scan(&label); err != nil {
		return err
	}
	for file, text := range map[string]string{"backup_label": label, "standby.signal": ""} {
		path := filepath.Join(standby.data, file)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), standby.as.own(path)); err != nil {
			return err
		}
	}
	return nil
}

// copyData copies the folder of a server that runs, without what belongs to its process, for the account.
func copyData(as account, from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, from)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a file of a transaction that has ended
			return nil
		case err != nil:
			return err
		case name == "/postmaster.pid", name == "/postmaster.opts", filepath.Dir(name) == "/pg_wal" && !entry.IsDir():
			return nil
		case filepath.Dir(name) == "/pg_replslot":
			return fs.SkipDir
		case entry.IsDir():
			return errors.Join(os.Mkdir(to+name, 0o700), as.own(to+name)) //nolint:gosec // a folder of our own
		}
		return copyFile(as, path, to+name)
	})
}

func copyFile(as account, from, to string) error {
	in, err := os.Open(from) //nolint:gosec // the data of our own server
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()                                                      //nolint:errcheck // it was only read.
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600) //nolint:gosec // a folder of our own
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), as.own(to))
}
