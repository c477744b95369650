package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a proof of anything.
	"embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is one verb as the server runs it.
type script struct {
	text, sha string
	// confirmed: the caller hears of it only when [Options.Replicas] have it.
	confirmed bool
}

// scripts are the verbs.
type scripts struct {
	claim, settle, settleBare, batch *script
	renew, lookup, await, draw       *script
}

// parts differ between stores in the same scripts.
type parts struct {
	includes map[string]string // the words after "-- include", and the file that they name
	texts    *strings.Replacer
	now      string // in the place of now.lua, in tests
}

// newScripts writes the scripts down for this store.
func newScripts(s *Store) (scripts, error) {
	p := parts{
		includes: map[string]string{
			"now": "now", "claim": "claim_one", "settle": "settle_one",
			"fence": "claim_fence_counted", "forget": "settle_forget_now",
		},
		texts: strings.NewReplacer(
			"@channel@", s.channel,
			"@slack@", strconv.FormatInt(s.slack.Milliseconds(), 10),
			"@stale@", strconv.FormatInt(staleDraw.Microseconds(), 10)),
	}
	if s.draws != nil {
		p.includes["fence"], p.includes["forget"] = "claim_fence_drawn", "settle_forget_later"
	}
	confirmed := s.opts.Replicas > 0 && !s.opts.ReadOnly
	if confirmed {
		p.includes["found"] = "found"
	}
	if s.opts.clock != nil {
		p.now = s.opts.clock.lua
	}
	var all scripts
	for name, to := range map[string]**script{
		"claim": &all.claim, "settle": &all.settle, "renew": &all.renew,
		"batch": &all.batch, "lookup": &all.lookup, "await": &all.await, "draw": &all.draw,
	} {
		text, err := p.text(name)
		if err != nil {
			return scripts{}, err
		}
		*to = newScript(text)
	}
	// Without an outcome it needs no room to speak of, and must not fail for want of it.
	all.settleBare = newScript("#!lua flags=allow-oom\n" + all.settle.text)
	if !confirmed {
		all.lookup = newScript("#!lua flags=no-writes\n" + all.lookup.text)
	}
	// A lookup as well: a duplicate that waited learns the outcome by it. A replica
	// confirms nothing, but has what it answers.
	for _, sc := range []*script{all.claim, all.settle, all.settleBare, all.batch, all.renew, all.lookup} {
		sc.confirmed = confirmed
	}
	return all, nil
}

func newScript(text string) *script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see above.
	return &script{text: text, sha: hex.EncodeToString(sum[:])}
}

// text returns the script in the named file, with what it includes.
func (p *parts) text(name string) (string, error) {
	if name == "now" && p.now != "" {
		return p.now, nil
	}
	content, err := luaFiles.ReadFile("lua/" + name + ".lua")
	if err != nil {
		return "", fmt.Errorf("redisstore: read the script %s: %w", name, err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(content)) {
		included, found := strings.CutPrefix(strings.TrimSpace(line), "-- include ")
		switch {
		case !found:
			b.WriteString(line)
		case p.includes[included] != "":
			part, err := p.text(p.includes[included])
			if err != nil {
				return "", err
			}
			b.WriteString(part)
		}
	}
	return p.texts.Replace(b.String()), nil
}

// runScript runs a script by its name, and sends its text where the server does not
// know it (any more). It never repeats what may have been done.
func (s *Store) runScript(ctx context.Context, sc *script, keys, args []string) rueidis.RedisResult {
	if s.opts.clock != nil {
		args = append(args, strconv.FormatInt(s.opts.clock.ms(), 10))
	}
	if sc.confirmed {
		return s.runConfirmed(ctx, sc, keys, args)
	}
	resp := s.client.Do(ctx, s.evalsha(sc, keys, args))
	if unknownScript(resp.Error()) {
		resp = s.client.Do(ctx, s.eval(sc, keys, args))
	}
	return resp
}

func (s *Store) evalsha(sc *script, keys, args []string) rueidis.Completed {
	return s.client.B().Evalsha().Sha1(sc.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}

func (s *Store) eval(sc *script, keys, args []string) rueidis.Completed {
	return s.client.B().Eval().Script(sc.text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}

func unknownScript(err error) bool {
	redisErr, ok := rueidis.IsRedisErr(err)
	return ok && redisErr.IsNoScript()
}
