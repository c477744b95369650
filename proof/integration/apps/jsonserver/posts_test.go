package jsonserver_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel/proof/integration/apps"
)

// first reports answers that are not 201, or not that of the first.
func first(t *testing.T, d apps.Door, answers []*apps.Answer) {
	t.Helper()
	bodies, locations := make(map[string]bool), make(map[string]bool)
	for i, a := range answers {
		if a.Status != http.StatusCreated {
			t.Errorf("answer %d: got %d, want 201: %s", i+1, a.Status, a.Body)
		}
		bodies[string(a.Body)] = true
		locations[a.Location()] = true
	}
	want := d.Want(len(answers), 1)
	if len(bodies) != want || len(locations) != want {
		t.Errorf("got %d different answers with %d locations, want %d", len(bodies), len(locations), want)
	}
}

// A form sent two times is one post; opened again, it is another.
func TestForm(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, person := open(t, d)
		write := func() *apps.Submission {
			return person.Open("/").Form("post").Set("title", "Symmetries & more").Set("text", "two\r\nlines").Press("")
		}
		sent := write()
		first(t, d, []*apps.Answer{person.Send(sent), person.Send(sent)})
		if got, want := len(server.rows("posts")), d.Want(2, 1); got != want {
			t.Errorf("got %d posts, want %d", got, want)
		}
		first(t, d, person.SendAtOnce(write(), 4))
		posts := server.rows("posts")
		if got, want := len(posts), d.Want(6, 2); got != want {
			t.Fatalf("got %d posts after four more at once, want %d", got, want)
		}
		for _, post := range posts { // title, text and id: nothing of Semel's
			if len(post) != 3 || post["title"] != "Symmetries & more" || post["text"] != "two\r\nlines" {
				t.Errorf("got %v, want what was written and no more", post)
			}
		}
	})
}

// A program's key does the same for JSON.
func TestKey(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, person := open(t, d)
		for _, list := range []string{"posts", "comments"} {
			before := len(server.rows(list))
			sent := &apps.Submission{
				Method: http.MethodPost, Path: "/" + list, ContentType: "application/json", Body: []byte(`{"text": "hello"}`),
				Headers: []string{"Idempotency-Key", `"of ` + list + `"`},
			}
			first(t, d, append(person.SendAtOnce(sent, 3), person.Send(sent)))
			if got, want := len(server.rows(list))-before, d.Want(4, 1); got != want {
				t.Errorf("%s: got %d rows, want %d", list, got, want)
			}
		}
		keyless := person.Do(http.MethodPost, "/comments", "application/json", []byte(`{"text": "no key"}`))
		if want := d.Want(http.StatusCreated, http.StatusBadRequest); keyless.Status != want {
			t.Errorf("got %d without a key, want %d: %s", keyless.Status, want, keyless.Body)
		}
	})
}

// Answers to reads are the same byte for byte, and so are those to writes that may be sent twice
// by its nature.
func TestTour(t *testing.T) {
	t.Parallel()
	server := start(t)
	direct, through := apps.NewPerson(t, server.address), apps.NewPerson(t, apps.Protect(t, server.address, rules))
	for _, person := range []*apps.Person{direct, through} {
		for range 2 {
			if got := person.Do(http.MethodPut, "/comments/1", "application/json", []byte(`{"text": "changed"}`)); got.Status != http.StatusOK {
				t.Errorf("got %d, want 200: %s", got.Status, got.Body)
			}
		}
	}
	tour := &apps.Tour{
		Direct: direct, Through: through, Limit: 200,
		From:  []string{"/", "/index.html", "/posts", "/comments/1", "/comments?text=changed", "/comments?_page=1&_limit=1", "/nowhere", "/db"},
		Leave: func(string) bool { return false },
	}
	seen := tour.Walk(t)
	t.Logf("%+v", seen)
	if seen.Answers < 9 || seen.Pages < 2 || seen.Inserted < 2 {
		t.Errorf("got %+v, want a tour that is worth it", seen)
	}
}
