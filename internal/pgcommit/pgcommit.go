// Package pgcommit keeps drivers of PostgreSQL from cancelling commits.
//
// A driver asks the server to cancel the statement of a connection that it gives up, for
// instance because the context has ended. A COMMIT that waits for its synchronous
// standby then stops waiting: the server shows the rows, although no standby has them,
// and a failover loses them.
package pgcommit

import (
	"bytes"
	"context"
	"database/sql"
	"reflect"
)

// Conn has the methods of pgx's *pgconn.PgConn that hide its key.
type Conn interface {
	SecretKey() []byte
	IsClosed() bool
}

// Shield keeps conn from cancelling what it sends until unshield is called. The server
// ignores a request to cancel without the connection's key, which is hidden meanwhile.
// A connection that was given up never gets its key back.
func Shield(conn Conn) (unshield func()) {
	key := conn.SecretKey() // pgx's own memory; the tests of package pgstore notice if that changes
	kept := bytes.Clone(key)
	clear(key)
	return func() {
		if !conn.IsClosed() { // otherwise pgx may be sending it
			copy(key, kept)
		}
	}
}

// ShieldSQL is [Shield] for a connection of database/sql. It does nothing where the driver
// is not pgx, which it recognizes by its methods: a service links the driver that it uses and no other.
func ShieldSQL(conn *sql.Conn) (unshield func()) {
	unshield = func() {}
	_ = conn.Raw(func(driver any) error { // a connection that is gone sends nothing
		if pg, ok := call(call(driver, "Conn"), "PgConn").(Conn); ok {
			unshield = Shield(pg)
		}
		return nil
	})
	return unshield
}

// call returns what a method without parameters returns, or nil if there is none.
func call(value any, method string) any {
	if value == nil {
		return nil
	}
	m := reflect.ValueOf(value).MethodByName(method)
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
		return nil
	}
	return m.Call(nil)[0].Interface()
}

// Commit commits tx, the transaction of conn, gives conn back to its pool, and calls end. The
// context of tx must outlive ctx. If ctx ends first, Commit returns its error, and the rest
// goes on in the background.
func Commit(ctx context.Context, conn *sql.Conn, tx *sql.Tx, end func()) error {
	unshield := ShieldSQL(conn)
	done := make(chan error, 1)
	go func() {
		defer end()
		err := tx.Commit()
		unshield()
		_ = conn.Close() // it only gives it back
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
