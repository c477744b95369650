package redisstore

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const defaultPort = "6379"

// dsn holds the parts of a DSN.
type dsn struct {
	addrs          []string
	tls            bool
	user, password string
	db             int
	cluster        bool
	opts           Options
	dialled        atomic.Pointer[Store] // is notified of every further connection
}

// parseDSN reads the DSN over the options. Its errors repeat nothing of what
// precedes the host.
func parseDSN(s string, o Options) (*dsn, error) {
	u, err := url.Parse(s)
	if err != nil { // it repeats the DSN
		return nil, fmt.Errorf("%w: the DSN is not a URL; write redis://user:password@host:6379/0, with %%-escapes in user and password", errConfig)
	}
	d := &dsn{opts: o}
	switch u.Scheme {
	case "redis":
	case "rediss":
		d.tls = true
	default:
		return nil, fmt.Errorf("%w: the DSN begins with neither redis:// nor rediss:// (TLS)", errConfig)
	}
	if u.Opaque != "" || u.Fragment != "" || u.Hostname() == "" {
		return nil, fmt.Errorf("%w: the DSN names no host; write redis://host:6379/0, with %%-escapes in user and password", errConfig)
	}
	d.addrs = []string{address(u.Host)}
	d.user = u.User.Username()
	d.password, _ = u.User.Password()
	if db := strings.Trim(u.Path, "/"); db != "" {
		if d.db, err = strconv.Atoi(db); err != nil || d.db < 0 {
			return nil, fmt.Errorf("%w: the DSN's path is the number of a database, such as /0, not %.20q", errConfig, u.Path)
		}
	}
	if err := d.parameters(u.RawQuery); err != nil {
		return nil, err
	}
	if d.cluster && d.db != 0 {
		return nil, fmt.Errorf("%w: a cluster has database 0 only, the DSN says %d", errConfig, d.db)
	}
	if !d.cluster && len(d.addrs) > 1 {
		return nil, fmt.Errorf("%w: the DSN names several addresses; add cluster=true if they are nodes of one cluster", errConfig)
	}
	d.opts, err = d.opts.withDefaults()
	return d, err
}

// parameters reads what follows the question mark.
func (d *dsn) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("%w: what follows the DSN's question mark cannot be read", errConfig)
	}
	for name, all := range values {
		value := all[0]
		if len(all) > 1 && name != "addr" {
			return fmt.Errorf("%w: the DSN says %s twice", errConfig, name)
		}
		switch name {
		case "prefix":
			d.opts.Prefix = value
		case "cluster":
			d.cluster, err = strconv.ParseBool(value)
		case "addr":
			for _, addr := range all {
				d.addrs = append(d.addrs, address(addr))
			}
			slices.Sort(d.addrs[1:])
		case "allow_eviction":
			d.opts.AllowEviction, err = strconv.ParseBool(value)
		case "replicas":
			d.opts.Replicas, err = strconv.Atoi(value)
		case "replica_timeout":
			d.opts.ReplicaTimeout, err = time.ParseDuration(value)
		default:
			return fmt.Errorf("%w: the DSN has an unknown parameter %.40q (known: addr, allow_eviction, cluster, prefix, replicas, replica_timeout)", errConfig, name)
		}
		if err != nil {
			return fmt.Errorf("%w: the DSN's %s is %.40q, which it cannot be", errConfig, name, value)
		}
	}
	return nil
}

// address adds the port where there is none.
func address(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
}
