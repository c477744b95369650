package console

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

const (
	// maxReaders bounds the pages that follow the numbers at a time, and maxOperatorReaders those of one operator.
	maxReaders         = 32
	maxOperatorReaders = 8
	// liveEvery is the time between two events, and liveWrite bounds how slowly one is read.
	liveEvery = time.Second
	liveWrite = 10 * time.Second
	// quietEvents is the number of events after which even one without news is sent, so that a reader that has gone is noticed.
	quietEvents = 15

	recordNews, openNews = "records", "open" // what news is about
)

// figures are the numbers of an event.
type figures struct {
	tally

	Live     int `json:"live"`
	Waiting  int `json:"waiting"`
	Detached int `json:"detached"`
}

func (c *Console) figures() figures {
	return figures{c.history.now().tally, c.guard.LiveClaims(), c.guard.Waiting(), c.guard.Detached()}
}

// news counts what has come since a page was drawn.
type news struct {
	Of    string // the name of the number in an event
	From  uint64
	What  string // what it counts; "" on its own page
	Where string // the address that shows it
}

// newsOf returns nil where this process serves no requests.
func (c *Console) newsOf(of, what, where string) *news {
	if c.history == nil {
		return nil
	}
	n := &news{Of: of, What: what, Where: where}
	now := c.history.now().tally
	if n.From = now.Records; of == openNews {
		n.From = now.Open
	}
	return n
}

// readers counts the pages that follow the numbers. The zero value counts none.
type readers struct {
	mu  sync.Mutex // guards the fields below
	all int
	of  map[string]int // by operator
}

// enter reports whether one more may follow. An operator that takes all it may leaves places for others.
func (r *readers) enter(operator string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == maxReaders || r.of[operator] == maxOperatorReaders {
		return false
	}
	if r.of == nil {
		r.of = map[string]int{}
	}
	r.all++
	r.of[operator]++
	return true
}

func (r *readers) leave(operator string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all--
	if r.of[operator]--; r.of[operator] == 0 {
		delete(r.of, operator)
	}
}

// live sends the numbers of this process until the reader goes, or the session or the process ends. It does not ask the store.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	one, ok := c.sessions.of(r)
	if !ok {
		http.Error(w, "Log in first.", http.StatusUnauthorized)
		return
	}
	if !c.readers.enter(one.Name) {
		http.Error(w, "Too many pages follow the numbers already.", http.StatusServiceUnavailable)
		return
	}
	defer c.readers.leave(one.Name)
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Time{}) != nil { // that of the request would end the stream
		http.Error(w, "This server cannot send events.", http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for sent, quiet := (figures{Live: -1}), 0; ; {
		now := c.figures()
		if quiet++; now != sent || quiet == quietEvents {
			sent, quiet = now, 0
			if !event(w, control, now) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-c.done:
			return
		}
		if _, ok := c.sessions.of(r); !ok {
			return
		}
	}
}

// event writes one, and reports whether it was read.
func event(w http.ResponseWriter, control *http.ResponseController, f figures) bool {
	if control.SetWriteDeadline(time.Now().Add(liveWrite)) != nil {
		return false
	}
	text, err := json.Marshal(f)
	if err != nil {
		return false
	}
	_, err = w.Write(append(append([]byte("data: "), text...), "\n\n"...))
	return err == nil && control.Flush() == nil
}
