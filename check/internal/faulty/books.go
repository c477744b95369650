package faulty

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Order is one row of the books.
type Order struct {
	ID     int    `json:"id"`
	Number string `json:"number"`
	Amount int64  `json:"amount"`

	found bool // it was in the books before
}

// fails reports whether the shop should fail at the order, for checks of failures.
func (o Order) fails() bool { return strings.HasPrefix(o.Number, "fail-") }

// The errors for an order whose number is already in the books.
var (
	errTaken  = errors.New("an order of that number already exists")
	errNoRows = errors.New("sql: no rows in result set")
)

// Books are the table of orders. The zero value is empty. They are safe for
// concurrent use.
type Books struct {
	mu   sync.Mutex // guards the field below
	rows []Order
}

// All returns the orders so far.
func (b *Books) All() []Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rows)
}

// Add takes every order.
func (b *Books) Add(order Order) (Order, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.insert(order), nil
}

// AddNew rejects an existing number, as a unique index does.
func (b *Books) AddNew(order Order) (Order, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.find(order.Number) >= 0 {
		return Order{}, errTaken
	}
	return b.insert(order), nil
}

// FindOrAdd returns the order of that number, and creates it if there is none.
func (b *Books) FindOrAdd(order Order) (Order, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := b.find(order.Number); i >= 0 {
		return found(b.rows[i]), nil
	}
	return b.insert(order), nil
}

// findThenAdd is FindOrAdd in two statements.
func (b *Books) findThenAdd(order Order) (Order, error) {
	if i := b.look(order.Number); i >= 0 {
		return found(b.All()[i]), nil
	}
	return b.Add(order)
}

func found(order Order) Order {
	order.found = true
	return order
}

// lookThenAdd is AddNew without the index: the validation searches first.
func (b *Books) lookThenAdd(order Order) (Order, error) {
	if b.look(order.Number) >= 0 {
		return Order{}, errTaken
	}
	return b.Add(order)
}

// addReturning is INSERT … ON CONFLICT DO NOTHING RETURNING, read as if a row
// always came back.
func (b *Books) addReturning(order Order) (Order, error) {
	kept, err := b.AddNew(order)
	if err != nil {
		return Order{}, errNoRows
	}
	return kept, nil
}

// addIgnoring is INSERT IGNORE: it reports success even if nothing was written.
func (b *Books) addIgnoring(order Order) (Order, error) {
	kept, err := b.AddNew(order)
	if err == nil {
		return kept, nil
	}
	order.ID = len(b.All()) + 1
	return order, nil // the mistake
}

// look is a SELECT, whose result may be outdated when the caller reads it.
func (b *Books) look(number string) int {
	b.mu.Lock()
	found := b.find(number)
	b.mu.Unlock()
	lag()
	return found
}

// insert appends; the caller holds mu.
func (b *Books) insert(order Order) Order {
	order.ID = len(b.rows) + 1
	b.rows = append(b.rows, order)
	return order
}

// find returns the index of a number, or -1; the caller holds mu.
func (b *Books) find(number string) int {
	return slices.IndexFunc(b.rows, func(o Order) bool { return o.Number == number })
}

// lag waits as long as a statement takes to reach a database. Code that reads in one statement and writes in the next
// leaves such a gap for others.
func lag() {
	timer := time.NewTimer(roundTrip)
	<-timer.C
}

const roundTrip = 30 * time.Millisecond

func answerTaken(w http.ResponseWriter, err error) {
	if errors.Is(err, errTaken) {
		answerProblem(w, http.StatusConflict, err.Error())
		return
	}
	answerProblem(w, http.StatusInternalServerError, "something went wrong")
}
