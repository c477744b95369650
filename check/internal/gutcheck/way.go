package gutcheck

import (
	"context"
	"errors"
)

// way is an act of people with a form.
type way struct {
	name string
	// presses counts the sendings.
	presses int
	// meant is the reason for which two effects may be two wishes; empty if they never are. unscripted is the same for pages without scripts.
	meant, unscripted string
	act               func(ctx context.Context, s *scene) error
}

// noWayError is the error of a way that this page does not have.
type noWayError struct{ why string }

func (e *noWayError) Error() string { return e.why }

const firstWay = "a click"

const newPage = "the form was a new one, and only a script remembers the first"

// ways returns every way; the first has to have one effect.
func ways() []way {
	return []way{
		{name: firstWay, presses: 1, act: func(ctx context.Context, s *scene) error { return s.press(ctx, 1) }},
		{name: "a double click", presses: 2, act: func(ctx context.Context, s *scene) error {
			return s.meanwhile(ctx, s.press, func(ctx context.Context) error { return s.press(ctx, 2) })
		}},
		{name: "Enter, then a click", presses: 2, act: func(ctx context.Context, s *scene) error {
			enter := func(ctx context.Context, _ int) error { return s.enter(ctx) }
			return s.meanwhile(ctx, enter, func(ctx context.Context) error { return s.press(ctx, 1) })
		}},
		{name: "a reload while it is sent, and again", presses: 2, unscripted: newPage, act: func(ctx context.Context, s *scene) error {
			return s.meanwhile(ctx, s.press, func(ctx context.Context) error { return s.after(ctx, s.reload) })
		}},
		{name: "the address anew while it is sent", presses: 2, unscripted: newPage, act: func(ctx context.Context, s *scene) error {
			return s.meanwhile(ctx, s.press, func(ctx context.Context) error {
				return s.after(ctx, func(context.Context) error { s.tab.Go(s.run.config.URL); return nil })
			})
		}},
		{name: "the answer is lost, and again", presses: 2, act: lostAndAgain},
		{name: "the answer is lost, and reload", presses: 2, act: lostAndReload},
		{name: "Back after the answer, and again", presses: 2, act: backAndAgain},
		{name: "a second tab while it is sent", presses: 2, meant: "a tab opened apart may be another wish", act: secondTab},
	}
}

func presses() (n int) {
	for _, w := range ways() {
		n += w.presses
	}
	return n
}

// meanwhile sends, and acts while that is under way.
func (s *scene) meanwhile(ctx context.Context, send func(context.Context, int) error, act func(context.Context) error) error {
	s.holdNext()
	if err := send(ctx, 1); err != nil {
		return err
	}
	s.wait(ctx)
	err := act(ctx)
	s.release()
	return err
}

// after leads to a new page by an act, fills the form in and sends it.
func (s *scene) after(ctx context.Context, act func(context.Context) error) error {
	if err := s.leave(ctx, act); err != nil {
		return err
	}
	if err := s.fill(ctx, s.tab); err != nil {
		return err
	}
	return s.press(ctx, 1)
}

// lose sends, and waits until the answer is lost.
func (s *scene) lose(ctx context.Context) error {
	s.loseNext()
	if err := s.press(ctx, 1); err != nil {
		return err
	}
	if !s.lost(ctx) {
		return errors.New("no answer came that could be lost")
	}
	err := s.tab.Idle(ctx)
	s.release()
	return err
}

func lostAndAgain(ctx context.Context, s *scene) error {
	if err := s.lose(ctx); err != nil {
		return err
	}
	if s.there(ctx, s.tab) { // the page stayed
		if err := s.fill(ctx, s.tab); err != nil {
			return err
		}
		return s.press(ctx, 1)
	}
	return s.after(ctx, func(ctx context.Context) error {
		if there, err := s.tab.Back(ctx); err != nil || !there {
			return errors.Join(err, &noWayError{"the tab has no earlier page"})
		}
		return nil
	})
}

func lostAndReload(ctx context.Context, s *scene) error {
	if err := s.lose(ctx); err != nil {
		return err
	}
	stayed := s.there(ctx, s.tab)
	if err := s.leave(ctx, s.reload); err != nil {
		return err
	}
	if !stayed {
		return nil // the browser has sent the form once more
	}
	if err := s.fill(ctx, s.tab); err != nil {
		return err
	}
	return s.press(ctx, 1)
}

// reload loads the page anew.
func (s *scene) reload(context.Context) error {
	s.tab.Reload()
	return nil
}

func backAndAgain(ctx context.Context, s *scene) error {
	if err := s.press(ctx, 1); err != nil {
		return err
	}
	if err := s.answered(ctx, 1); err != nil {
		return err
	}
	if s.there(ctx, s.tab) {
		return &noWayError{"the page stays at its form: the same by a new click may be meant"}
	}
	return s.after(ctx, func(ctx context.Context) error {
		if there, err := s.tab.Back(ctx); err != nil || !there {
			return errors.Join(err, &noWayError{"the tab has no earlier page"})
		}
		return nil
	})
}

func secondTab(ctx context.Context, s *scene) error {
	return s.meanwhile(ctx, s.press, func(ctx context.Context) error {
		other, err := s.open(ctx)
		if err != nil {
			return err
		}
		return s.pressIn(ctx, other, 1)
	})
}
