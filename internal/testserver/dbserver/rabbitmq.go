package dbserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	rabbitHint = "apt-get install rabbitmq-server"

	// The script that Debian puts on PATH runs as root or its own user only, and calls this one.
	debianRabbit = "/usr/lib/rabbitmq/bin/rabbitmq-server"
)

// RabbitMQ is a RabbitMQ node of its own, which takes about ten seconds to start. The user guest may do everything.
type RabbitMQ struct {
	*process

	epmd *process // maps the node's name to its port
}

// RabbitMQ starts a node. What is durable survives its end; conf is added to rabbitmq.conf.
func (h *Home) RabbitMQ(ctx context.Context, conf string) (*RabbitMQ, error) {
	path, err := exec.LookPath(debianRabbit)
	if err != nil {
		path, err = find("rabbitmq-server", rabbitHint)
	}
	if err != nil {
		return nil, err
	}
	as, err := accountFor("rabbitmq")
	if err != nil {
		return nil, err
	}
	epmd, err := h.epmd(ctx, as)
	if err != nil {
		return nil, err
	}
	s := &RabbitMQ{epmd: epmd}
	dir, err := h.room("rabbitmq", as)
	if err == nil {
		err = s.configure(ctx, h, as, dir, path, conf)
	}
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, epmd.Close()) //nolint:contextcheck // ending is not the caller's to cancel
	}
	return s, nil
}

func (s *RabbitMQ) configure(ctx context.Context, h *Home, as account, dir, path, conf string) error {
	distribution, err := freePort(ctx)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "rabbitmq.conf")
	plugins := filepath.Join(dir, "plugins")
	if err := errors.Join(os.WriteFile(plugins, []byte("[].\n"), 0o600), as.own(plugins)); err != nil {
		return fmt.Errorf("configure RabbitMQ: %w", err)
	}
	s.process = &process{
		home: h, as: as, dir: dir, path: path, stopSignal: "TERM", endSignal: "KILL",
		env: []string{
			"RUNNING_UNDER_SYSTEMD=true", // the script becomes the node, which ends by signals, instead of waiting for it
			"ERL_EPMD_PORT=" + fmt.Sprint(s.epmd.port), "ERL_EPMD_ADDRESS=" + host,
			"RABBITMQ_DIST_PORT=" + fmt.Sprint(distribution),
			"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
			"RABBITMQ_NODENAME=semel@localhost", "RABBITMQ_LOGS=-", "RABBITMQ_CONF_ENV_FILE=/dev/null",
			"RABBITMQ_CONFIG_FILE=" + file, "RABBITMQ_ADVANCED_CONFIG_FILE=" + filepath.Join(dir, "none.config"),
			"RABBITMQ_ENABLED_PLUGINS_FILE=" + plugins, "RABBITMQ_MNESIA_BASE=" + dir, "RABBITMQ_LOG_BASE=" + dir,
		},
		prepare: func(port int) error {
			text := fmt.Sprintf("listeners.tcp.1 = %s\nlog.console.level = warning\n%s\n", address(port), conf)
			return errors.Join(os.WriteFile(file, []byte(text), 0o600), as.own(file))
		},
		args:  func(int) []string { return nil },
		ready: s.ready,
	}
	return nil
}

// epmd starts a port mapper: the one that a node starts otherwise would serve the whole machine, and stay.
func (h *Home) epmd(ctx context.Context, as account) (*process, error) {
	path, err := find("epmd", rabbitHint)
	if err != nil {
		return nil, err
	}
	dir, err := h.room("epmd", as)
	if err != nil {
		return nil, err
	}
	p := &process{home: h, as: as, dir: dir, path: path, stopSignal: "TERM", endSignal: "KILL"}
	p.args = func(port int) []string { return []string{"-port", fmt.Sprint(port), "-address", host} }
	p.ready = func(ctx context.Context) error {
		return converse(ctx, p.Addr(), "", func(*bufio.Reader) error { return nil })
	}
	return p, p.launch(ctx)
}

// ready begins a connection: the node answers when it has started all it has.
func (s *RabbitMQ) ready(ctx context.Context) error {
	return converse(ctx, s.Addr(), "AMQP\x00\x00\x09\x01", func(answer *bufio.Reader) error {
		_, err := answer.ReadByte()
		return err
	})
}

// URL is the address of the node for clients.
func (s *RabbitMQ) URL() string { return "amqp://guest:guest@" + s.Addr() + "/" }

// Close ends the node at once and removes what it kept.
func (s *RabbitMQ) Close() error { return errors.Join(s.process.Close(), s.epmd.Close()) }
