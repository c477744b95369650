package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// errConfig means that the DSN or the options are wrong as written: nothing was
// tried, and trying again does not help.
var errConfig = verb.ConfigError("redisstore: wrong configuration")

// translate gives an error of the client to the caller: which act met it, and
// what to do. A full server becomes [semel.ErrFull]; the rest wraps none of
// the contract's sentinels, which means that it is unknown whether the step
// was taken.
func (s *Store) translate(act string, err error) error {
	return translate(act, s.password, err)
}

func translate(act, password string, err error) error {
	word := code(err)
	if password != "" && strings.Contains(err.Error(), password) {
		// A server that does not know a command may repeat its arguments.
		err = errors.New(strings.ReplaceAll(err.Error(), password, "…"))
	}
	if word == "OOM" {
		return fmt.Errorf("%w: redisstore: %s: %w (%s)", semel.ErrFull, act, err, hint(word))
	}
	if lasts(word) {
		err = verb.Refused(err)
	}
	if h := hint(word); h != "" {
		return fmt.Errorf("redisstore: %s: %w (%s)", act, err, h)
	}
	return fmt.Errorf("redisstore: %s: %w", act, err)
}

// code is the first word of an error that the server answered, or one that
// replaces its text.
func code(err error) string {
	redisErr, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok || redisErr.IsNil() {
		return ""
	}
	text := redisErr.Error()
	for said, code := range map[string]string{
		"can't run this command":   "NOPERM", // in a script
		"no permissions":           "NOPERM",
		"cluster support disabled": "NOCLUSTER",
		"DB index is out of range": "NODB",
	} {
		if strings.Contains(text, said) {
			return code
		}
	}
	word, _, _ := strings.Cut(text, " ")
	return word
}

// lasts reports whether the server refuses until an operator changes a setting, a right or the disk.
func lasts(code string) bool {
	switch code {
	case "NOAUTH", "WRONGPASS", "NOPERM", "READONLY", "MISCONF", "MOVED", "CROSSSLOT", "NOCLUSTER", "NODB", "WRONGTYPE":
		return true
	}
	return false
}

// hint says what an operator can do about what the server answered.
func hint(code string) string {
	switch code {
	case "OOM":
		return "the server's memory is full: raise maxmemory or shorten retentions; it goes on as soon as records have expired"
	case "NOAUTH":
		return "the server wants a password: write it into the DSN, redis://user:password@host"
	case "WRONGPASS":
		return "check user and password in the DSN, with %-escapes; a password without a user is written redis://:password@host"
	case "NOPERM":
		return "the server's user may not do this: grant it the commands and keys that the package documentation names with ACL SETUSER"
	case "READONLY":
		return "this server is a replica: name the primary"
	case "LOADING":
		return "the server still reads its data: wait"
	case "MISCONF":
		return "the server cannot write its data to disk and takes nothing new: look at its log and its disk"
	case "MASTERDOWN":
		return "this replica has lost its primary: name the primary"
	case "CLUSTERDOWN":
		return "a part of the cluster has no primary: look at it with redis-cli --cluster check"
	case "MOVED", "ASK", "CROSSSLOT":
		return "this server is a node of a cluster: add cluster=true to the DSN"
	case "NOCLUSTER":
		return "this server is not a node of a cluster: remove cluster=true from the DSN"
	case "NODB":
		return "the server has no database of this number: change the DSN's path, such as /0"
	case "NOREPLICAS":
		return "the server has fewer replicas than min-replicas-to-write asks for: restore them, or lower it"
	case "BUSY":
		return "another program's script keeps the server busy: end it with SCRIPT KILL"
	case "WRONGTYPE":
		return "another program uses keys of this prefix: choose another"
	}
	return ""
}
