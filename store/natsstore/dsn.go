package natsstore

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

const defaultPort = "4222"

// dsn holds the parts of a DSN.
type dsn struct {
	servers []string // URLs without what is secret
	login   []nats.Option
	secrets []string // that no error may repeat
	opts    Options
}

// parseDSN reads the DSN over the options. Its errors repeat nothing of what precedes
// the host.
func parseDSN(s string, o Options) (*dsn, error) {
	const form = "write nats://user:password@host:4222?stream=SEMEL&sync=always, with %-escapes in user and password"
	u, err := url.Parse(s)
	if err != nil { // it repeats the DSN
		return nil, fmt.Errorf("%w: the DSN is not a URL; %s", errConfig, form)
	}
	if u.Scheme != "nats" && u.Scheme != "tls" {
		return nil, fmt.Errorf("%w: the DSN begins with neither nats:// nor tls://", errConfig)
	}
	if u.Opaque != "" || u.Fragment != "" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("%w: the DSN is not a host and its parameters; %s", errConfig, form)
	}
	if strings.Contains(u.Host, ",") {
		return nil, fmt.Errorf("%w: the DSN has one host; name further servers of the cluster with addr=host:port", errConfig)
	}
	server, ok := address(u.Host)
	if !ok {
		return nil, fmt.Errorf("%w: the DSN is not a host and its parameters; %s", errConfig, form)
	}
	d := &dsn{opts: o, servers: []string{u.Scheme + "://" + server}}
	if password, ok := u.User.Password(); ok {
		d.login, d.secrets = append(d.login, nats.UserInfo(u.User.Username(), password)), append(d.secrets, password)
	} else if token := u.User.Username(); token != "" {
		d.login, d.secrets = append(d.login, nats.Token(token)), append(d.secrets, token)
	}
	if err := d.parameters(u.RawQuery, u.Scheme); err != nil {
		return nil, err
	}
	d.opts, err = d.opts.withDefaults()
	return d, err
}

// parameters reads what follows the question mark.
func (d *dsn) parameters(query, scheme string) error {
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
		case "sync":
			d.opts.Sync = Sync(value)
		case "stream":
			d.opts.Stream = value
		case "subject":
			d.opts.Subject = value
		case "domain":
			d.opts.Domain = value
		case "creds":
			d.login = append(d.login, nats.UserCredentials(value))
		case "replicas":
			d.opts.Replicas, err = strconv.Atoi(value)
		case "max_bytes":
			d.opts.MaxBytes, err = strconv.ParseInt(value, 10, 64)
		case "addr":
			for _, addr := range all {
				server, ok := address(addr)
				if !ok { // it may have a password
					return fmt.Errorf("%w: the DSN has an addr that is not a host, or a host and its port (user and password are those of the DSN)", errConfig)
				}
				d.servers = append(d.servers, scheme+"://"+server)
			}
		default:
			return fmt.Errorf("%w: the DSN has an unknown parameter %.40q (known: addr, creds, domain, max_bytes, replicas, stream, subject, sync)", errConfig, name)
		}
		if err != nil {
			return fmt.Errorf("%w: the DSN's %s is %.40q, which is not a number", errConfig, name, value)
		}
	}
	return nil
}

// address adds the port where there is none. ok is false unless it is a host, or a host and its port.
func address(host string) (full string, ok bool) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), defaultPort
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return net.JoinHostPort(name, port), err == nil && name != "" && !strings.ContainsAny(name, "@/?#[], \t\r\n")
}
