package check

import (
	"context"
	"fmt"
	"strings"
)

func cutsNoKey(ctx context.Context, p *probe) finding {
	tried := 0
	for _, length := range longKeys() {
		in, err := p.intent(ctx)
		if err != nil {
			return incomplete("%v", err)
		}
		shared := stretched(in.key, length-1)
		f, refused := p.apart(ctx, shared+"a", shared+"b", nil)
		if !f.ok() {
			return f.after(fmt.Sprintf("keys of %d bytes: ", length))
		}
		if !refused {
			tried++
		}
	}
	if tried == 0 {
		return skipped("keys of %d bytes and more are refused", longKeys()[0])
	}
	return passed()
}

// apart sends two intents with these keys, which only look alike. It also reports whether the first key was refused;
// then the second is not sent.
func (p *probe) apart(ctx context.Context, one, other string, spell func(key string) change) (f finding, refused bool) {
	both, err := p.intents(ctx, 2)
	if err != nil {
		return incomplete("%v", err), false
	}
	send := func(label string, in *intent) reply {
		if spell != nil {
			return p.send(ctx, label, in, spell(in.key))
		}
		return p.send(ctx, label, in)
	}
	a, b := both[0].renamed(one), both[1].renamed(other)
	since := p.before(ctx)
	first := send("one key", a)
	switch {
	case !first.judged().ok():
		return first.judged(), false
	case first.refused():
		return p.counted(ctx, since, 0, 0, a), true
	case !first.fine():
		f := failedBy(first, "the first request is answered %s", first)
		if f.failure && p.failsByLength(ctx, one, send) {
			f.cause = longKey
		}
		return f, false
	}
	return p.twoIntents(ctx, since, first, send("a key that looks like it", b), a, b), false
}

// failsByLength reports whether the service fails at any key of this length, whatever its content.
func (p *probe) failsByLength(ctx context.Context, key string, send func(string, *intent) reply) bool {
	if !strings.ContainsFunc(strings.TrimPrefix(key, keyPrefix), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
		return true
	}
	in, err := p.intent(ctx)
	return err == nil && send("a plain key of that length", in.renamed(stretched(keyPrefix+random(12), len(key)))).failure()
}

// lookalikes returns a check of two keys that only look alike. The key that is more likely to be refused goes first, so
// that a refusal is not mistaken for that of a known key. Keys in a header may have to be quoted.
func lookalikes(quoted bool, vary func(key string) (first, second string)) checkFunc {
	return func(ctx context.Context, p *probe) finding {
		var spell func(string) change
		if quoted && p.run.config.Key.In == keyInHeader {
			spell = func(key string) change { return p.spelled(`"` + key + `"`) }
		}
		first, second := vary(keyPrefix + random(12))
		f, refused := p.apart(ctx, first, second, spell)
		if f.ok() && refused {
			return passedBut("such keys are refused")
		}
		return f
	}
}
