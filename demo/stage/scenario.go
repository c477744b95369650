package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
)

// scenario is one way in which an intent arrives more than once. play returns the answer to the second caller.
type scenario struct {
	name     string
	play     func(ctx context.Context, p *player) (saw string, err error)
	scripted bool // on the page without a form
}

func scenarios() []scenario {
	return []scenario{
		{name: "double click", play: func(ctx context.Context, p *player) (string, error) { return impatience(ctx, p, 1) }},
		{name: "Enter, Enter again, then a click", play: func(ctx context.Context, p *player) (string, error) { return impatience(ctx, p, 2) }},
		{name: "refresh during submit", play: refresh},
		{name: "retry after a lost answer", play: lostAnswer},
		{name: "two tabs racing", play: twoTabs},
		{name: "a proxy resends the same bytes", play: resentBytes},
		{name: "API call retried with its key", play: apiRetry},
		{name: "API calls racing with one key", play: apiRace},
		{name: "same key, other data", play: apiOtherData},
		{name: "double click, sent by a script", play: scriptedClick, scripted: true},
	}
}

// impatience submits the form abandoned times before the submission that is awaited. A browser cancels the earlier
// ones, and the server continues with them.
func impatience(ctx context.Context, p *player, abandoned int) (string, error) {
	b, err := p.visitor(ctx)
	if err != nil {
		return "", err
	}
	for range abandoned {
		if err := b.submitAndLeave(ctx); err != nil {
			return "", err
		}
	}
	return b.submitAndLand(ctx, nil)
}

// refresh reloads the page while the form is being sent, and confirms the resubmission.
func refresh(ctx context.Context, p *player) (string, error) {
	b, err := p.visitor(ctx)
	if err != nil {
		return "", err
	}
	if err := b.submitAndLeave(ctx); err != nil {
		return "", err
	}
	return b.submitAndLand(ctx, http.Header{"Cache-Control": {"max-age=0"}})
}

// lostAnswer loses the connection after everything was done and before the answer was read; then the person tries
// again.
func lostAnswer(ctx context.Context, p *player) (string, error) {
	b, _, conn, err := p.sendForm(ctx)
	if err != nil {
		return "", err
	}
	if err := errors.Join(p.on.untilIdle(ctx), conn.Close()); err != nil {
		return "", err
	}
	return b.submitAndLand(ctx, nil)
}

// twoTabs submits the same form from two tabs of one browser at once.
func twoTabs(ctx context.Context, p *player) (string, error) {
	first, err := p.visitor(ctx)
	if err != nil {
		return "", err
	}
	return race(first.secondTab(), first, func(b *browser) (callerAnswer, error) { return b.submit(ctx, nil) })
}

// resentBytes is a proxy that loses the connection to the server and resends the same bytes on another one.
func resentBytes(ctx context.Context, p *player) (string, error) {
	b, sent, lost, err := p.sendForm(ctx)
	if err != nil {
		return "", err
	}
	if err := lost.Close(); err != nil {
		return "", err
	}
	conn, err := p.send(ctx, sent)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // everything was read.
	a, err := readAnswer(conn)
	if err != nil {
		return "", err
	}
	return b.land(ctx, a)
}

// apiRetry calls the JSON API twice with one key, like a client whose first call seemed to fail.
func apiRetry(ctx context.Context, p *player) (string, error) {
	c, key := p.program(), rand.Text()
	if _, err := c.create(ctx, key, 4200); err != nil {
		return "", err
	}
	a, err := c.create(ctx, key, 4200)
	return a.String(), err
}

// apiRace calls the JSON API from two programs at once, with one key.
func apiRace(ctx context.Context, p *player) (string, error) {
	key := rand.Text()
	return race(p.program(), p.program(), func(b *browser) (callerAnswer, error) { return b.create(ctx, key, 4200) })
}

// apiOtherData reuses a key for another amount.
func apiOtherData(ctx context.Context, p *player) (string, error) {
	c, key := p.program(), rand.Text()
	if _, err := c.create(ctx, key, 4200); err != nil {
		return "", err
	}
	a, err := c.create(ctx, key, 9900)
	return a.String(), err
}

// scriptedClick sends the request of the page without a form twice. Behind the gateway the player gives both the key of one wish, as the page
// script does.
func scriptedClick(ctx context.Context, p *player) (string, error) {
	guarded, err := p.program().hasPageScript(ctx)
	if err != nil {
		return "", err
	}
	key := ""
	if guarded {
		key = "semel-page-" + rand.Text()
	}
	return race(p.program(), p.program(), func(b *browser) (callerAnswer, error) { return b.create(ctx, key, 4200) })
}

// race runs both at once and returns the answer to the second, as far as the answers show.
func race(one, other *browser, act func(*browser) (callerAnswer, error)) (string, error) {
	var answers [2]callerAnswer
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { answers[0], errs[0] = act(one) })
	both.Go(func() { answers[1], errs[1] = act(other) })
	both.Wait()
	if answers[0].replayed {
		return answers[0].String(), errors.Join(errs[:]...)
	}
	return answers[1].String(), errors.Join(errs[:]...)
}
