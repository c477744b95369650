package semelhttp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"testing"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

// TestLostAnswerVectors (promise 3): a proxy's word for an answer that it did not get leaves the outcome unknown.
func TestLostAnswerVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			Status int    `json:"status"`
			Body   string `json:"body"`
			Lost   bool   `json:"lost"`
		} `json:"cases"`
	}
	noError(t, json.Unmarshal(must.Get(os.ReadFile("../testdata/vectors/lost.json")), &file))
	if len(file.Cases) < 30 {
		t.Fatalf("lost.json has %d cases only", len(file.Cases))
	}
	for _, v := range file.Cases {
		t.Run(fmt.Sprintf("%d %.20s", v.Status, v.Body), func(t *testing.T) {
			t.Parallel()
			server := newDoor(t, doorOptions{}).serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(v.Status)
				_, _ = io.WriteString(w, v.Body)
			})
			first, second := ask(t, server, "k1", "x"), ask(t, server, "k1", "x")
			if lost := first.word() == "unknown"; lost != v.Lost {
				t.Errorf("got %q, want lost = %v", first.word(), v.Lost)
			}
			if v.Lost {
				wantProblem(t, second, http.StatusConflict, "outcome-unknown")
			}
		})
	}
}

// TestLostAnswersPublished: callers can read which statuses leave the outcome unknown.
func TestLostAnswersPublished(t *testing.T) {
	t.Parallel()
	unknown := newDoor(t, doorOptions{}).policy(t).Statuses.Unknown
	want := "[502 504 520 521 522 523 524 525 526 527 530 598 599]"
	if got := fmt.Sprint(unknown); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStoredLostAnswer: a service that stores failures stores these, a status above 599 included.
func TestStoredLostAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadGateway, 524, 999} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{Options: semelhttp.Options{On5xx: semelhttp.StoreOn5xx}})
			server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			first := ask(t, server, "k1", "x")
			wantReplay(t, first, ask(t, server, "k1", "x"))
		})
	}
}
