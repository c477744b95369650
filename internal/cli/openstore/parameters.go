package openstore

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/cli/outcomecache"
)

// The parameters of a DSN that are Semel's own; all others are the driver's.
const (
	paramSchema      = "semel_schema"       // PostgreSQL: the schema that holds everything
	paramPrefix      = "semel_prefix"       // MySQL, Redis: the prefix of the names of tables or keys
	paramCache       = "semel_cache"        // how much of completed outcomes stays in memory: 32MiB, off
	paramGroupCommit = "semel_group_commit" // whether concurrent steps share commits: on, off
	paramMaxConns    = "semel_max_conns"    // MySQL: how many connections the store's pool has at most
	paramReplicas    = "semel_replicas"     // Redis: how many replicas must have what is acknowledged
	paramMaxBytes    = "semel_max_bytes"    // log: how large its files become together: 8GiB, off
)

// mostConns is more than servers admit, and mostReplicas than one primary feeds.
const (
	mostConns    = 10_000
	mostReplicas = 100
)

// parameters are Semel's own settings in a DSN.
type parameters struct {
	schema      string
	prefix      string
	cacheBytes  int64 // 0 for no cache
	groupCommit bool
	maxConns    int   // 0 for the store's default
	replicas    int   // 0 for the primary alone
	maxBytes    int64 // 0 for no bound
}

// takeParameters takes Semel's own parameters out of the part of a DSN behind
// its scheme, and returns what is left for the driver, byte for byte.
func takeParameters(rest string, known ...string) (string, parameters, error) {
	p := parameters{cacheBytes: outcomecache.DefaultMaxBytes, groupCommit: true}
	base, query, found := strings.Cut(rest, "?")
	if !found {
		return rest, p, nil
	}
	var left, said []string
	for pair := range strings.SplitSeq(query, "&") {
		name, raw, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "semel_") {
			left = append(left, pair)
			continue
		}
		value, err := url.QueryUnescape(raw)
		if err != nil {
			return "", p, fmt.Errorf("%w: the value of the parameter %s is not escaped as in a URL", ErrDSN, name)
		}
		if !slices.Contains(known, name) {
			return "", p, fmt.Errorf("%w: this store knows no parameter %s (its own are %s)", ErrDSN, name, strings.Join(known, ", "))
		}
		if slices.Contains(said, name) {
			return "", p, fmt.Errorf("%w: it says %s twice", ErrDSN, name)
		}
		said = append(said, name)
		if err := p.set(name, value); err != nil {
			return "", p, err
		}
	}
	if len(left) > 0 {
		base += "?" + strings.Join(left, "&")
	}
	return base, p, nil
}

// cut leaves a parameter out of the part of a DSN behind its scheme, and returns its
// value, as it is written.
func cut(rest, name string) (left, value string) {
	base, query, found := strings.Cut(rest, "?")
	if !found {
		return rest, ""
	}
	others := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
		escaped, written, _ := strings.Cut(pair, "=")
		is, err := url.QueryUnescape(escaped)
		if err == nil && is == name {
			value = written
			return true
		}
		return false
	})
	if len(others) == 0 {
		return base, value
	}
	return base + "?" + strings.Join(others, "&"), value
}

func (p *parameters) set(name, value string) (err error) {
	switch name {
	case paramSchema:
		p.schema = value
	case paramPrefix:
		p.prefix = value
	case paramCache:
		p.cacheBytes, err = parseBytes(value)
	case paramGroupCommit:
		p.groupCommit = value == "on"
		if value != "on" && value != "off" {
			err = fmt.Errorf("it is neither on nor off")
		}
	case paramMaxBytes:
		p.maxBytes, err = parseBytes(value)
	case paramMaxConns:
		p.maxConns, err = parseNumber(value, 1, mostConns)
	case paramReplicas:
		p.replicas, err = parseNumber(value, 0, mostReplicas)
	}
	if err != nil {
		return fmt.Errorf("%w: %s=%s: %w", ErrDSN, name, value, err)
	}
	return nil
}

func parseNumber(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("it is not a number from %d to %d", least, most)
	}
	return n, nil
}

// parseBytes reads a size such as 32MiB, 1GiB, 4096 or off.
func parseBytes(value string) (int64, error) {
	if value == "off" {
		return 0, nil
	}
	digits := strings.TrimRight(value, "KMGiB")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, ok := map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[value[len(digits):]]
	if err != nil || !ok || n < 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("it is not a size (write off, or a number with KiB, MiB or GiB, such as 32MiB)")
	}
	return n << shift, nil
}
