package refusal

import (
	"fmt"
	"time"
)

// Policy states what callers may rely on, as services publish it.
type Policy struct {
	Key              string          `json:"key"`              // where the key is found, in words
	Header           string          `json:"header,omitempty"` // the header with the key, if it is one
	Required         bool            `json:"required"`
	MaxKeyBytes      int             `json:"max_key_bytes"`
	Methods          []string        `json:"methods"`
	Scope            string          `json:"scope"`
	Mode             string          `json:"mode"` // idempotent or dedup
	RetentionSeconds int64           `json:"retention_seconds"`
	WaitSeconds      float64         `json:"wait_seconds"`
	LeaseSeconds     float64         `json:"lease_seconds"`
	MaxBodyBytes     int64           `json:"max_body_bytes"`
	MaxResponseBytes int             `json:"max_response_bytes"`
	ReplayAuthorised bool            `json:"replay_authorised"` // the caller's right is checked again before a repetition is answered
	Statuses         PolicyStatuses  `json:"statuses"`
	Problems         []PolicyProblem `json:"problems"`
}

// Retention says in words how long answers are kept.
func (p *Policy) Retention() string { return spanText(time.Duration(p.RetentionSeconds) * time.Second) }

// Wait says in words how long a repetition waits for a running request.
func (p *Policy) Wait() string { return spanText(time.Duration(p.WaitSeconds * float64(time.Second))) }

// MaxBody says in words how long a request body may be.
func (p *Policy) MaxBody() string { return sizeText(p.MaxBodyBytes) }

// MaxResponse says in words how long an answer is kept at most.
func (p *Policy) MaxResponse() string { return sizeText(int64(p.MaxResponseBytes)) }

// spanText writes a span of time in the largest unit that needs no fraction.
func spanText(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "seconds"}} {
		if d >= unit.length && d%unit.length == 0 {
			return fmt.Sprintf("%d %s", d/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%g seconds", d.Seconds())
}

// sizeText writes a size in the largest unit that needs no fraction.
func sizeText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// PolicyStatuses says what happens with the answers of the service.
type PolicyStatuses struct {
	Released     []int  `json:"released"`
	SignIn       string `json:"sign_in_redirects"` // released or stored
	Unknown      []int  `json:"unknown,omitempty"` // server errors that leave the outcome unknown while others are released; so does every status above 599
	ServerErrors string `json:"server_errors"`
	Others       string `json:"others"`
}

// PolicyProblem is one refusal that callers can meet.
type PolicyProblem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Retryable bool   `json:"retryable"`
}
