package dbserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"

	"github.com/jackc/pgx/v5"
)

// StandbyOptions are the options of [Postgres.Standby]. Nil means all defaults.
type StandbyOptions struct {
	// Sync makes every commit of the primary wait until this standby has it on its disk.
	Sync bool
	// Via is the host:port at which the standby reaches the primary, such as a proxy's. Default: the primary's own.
	Via string
	// Disk, when not nil, gets the syncs of the standby. Otherwise the standby syncs if the primary does.
	Disk *Disk
	// Conf is added to the postgresql.conf of the standby.
	Conf map[string]string
}

// Standby starts a server that follows this one by streaming replication, and waits until it streams.
func (s *Postgres) Standby(ctx context.Context, o *StandbyOptions) (*Postgres, error) {
	if o == nil {
		o = &StandbyOptions{}
	}
	follower, err := s.home.newPostgres()
	if err != nil {
		return nil, err
	}
	from, port, err := net.SplitHostPort(cmp.Or(o.Via, s.Addr()))
	if err != nil {
		return nil, fmt.Errorf("reach the primary: %w", err)
	}
	s.made++
	name := fmt.Sprintf("standby_%d", s.made)
	p := follower.process
	if err := s.copyTo(ctx, follower); err != nil {
		return nil, fmt.Errorf("copy the primary: %w", err)
	}
	conf := map[string]string{
		"primary_conninfo":          fmt.Sprintf("'host=%s port=%s user=postgres application_name=%s'", from, port, name),
		"synchronous_standby_names": "''", // what the primary waits for is not for us to wait for
	}
	if o.Disk != nil {
		conf["fsync"] = "on"
	}
	maps.Copy(conf, o.Conf)
	p.env = o.Disk.environment()
	if err := follower.configure(conf); err != nil {
		return nil, err
	}
	if err := p.launch(ctx); err != nil {
		return nil, err
	}
	want := "async"
	if o.Sync {
		want = "sync"
		err := s.Exec(ctx, "ALTER SYSTEM SET synchronous_standby_names = "+name)
		if err == nil {
			//semel:safe it reads the same settings again
			err = s.Exec(ctx, "SELECT pg_reload_conf()")
		}
		if err != nil {
			return nil, fmt.Errorf("make the standby synchronous: %w", err)
		}
	}
	return follower, s.waitStreaming(ctx, name, want)
}

// waitStreaming waits until the standby is connected and, when it is to be synchronous, until commits wait for it.
func (s *Postgres) waitStreaming(ctx context.Context, name, state string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	var got string
	err = poll(ctx, func() (bool, error) {
		err := conn.QueryRow(ctx, "SELECT coalesce(min(state || ' ' || sync_state), 'none') FROM pg_stat_replication"+
			" WHERE application_name = $1", name).Scan(&got)
		return got == "streaming "+state, err
	})
	err = errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	if err != nil {
		return fmt.Errorf("wait for %s to stream (it is %s): %w", name, got, err)
	}
	return nil
}

// Promote makes a standby a primary of its own and waits until it is one.
func (s *Postgres) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return fmt.Errorf("promote a standby: %w", err)
	}
	var promoted bool
	//semel:safe a second run is refused: the server is a primary by then
	err = conn.QueryRow(ctx, "SELECT pg_promote(true, 60)").Scan(&promoted)
	err = errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	if err != nil {
		return fmt.Errorf("promote a standby: %w", err)
	}
	if !promoted {
		return errors.New("promote a standby: it is still one after a minute")
	}
	return nil
}
