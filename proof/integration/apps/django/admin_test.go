package django_test

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/proof/integration/apps"
)

// answered holds the parts of an answer that a caller sees.
type answered struct {
	Status         int
	Location, Body string
}

func of(a *apps.Answer) answered { return answered{a.Status, a.Location(), string(a.Body)} }

// same reports answers that are not that of the first.
func same(t *testing.T, answers ...*apps.Answer) {
	t.Helper()
	for i, a := range answers {
		if diff := cmp.Diff(of(answers[0]), of(a)); diff != "" {
			t.Errorf("answer %d is another one than the first: %s", i+1, diff)
		}
	}
}

// A second click makes a second invoice, and keeps the file twice; with Semel
// the second click gets the first answer.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site, person := open(t, d)
		scan := bytes.Repeat([]byte("\x00\xff--scan\r\n"), 20_000)
		sent := filled(person, "Emmy").Attach("scan", "scan.bin", scan).Press("_save")
		first, second := person.Send(sent), person.Send(sent)
		if first.Status != http.StatusFound || first.Location() != "/admin/shop/invoice/" {
			t.Fatalf("got %d %q, want 302 to the list: %.2000s", first.Status, first.Location(), first.Body)
		}
		same(t, first, second)
		if got, want := site.count("shop_invoice"), d.Want(2, 1); got != want {
			t.Errorf("got %d invoices, want %d", got, want)
		}
		files := site.scans()
		if got, want := len(files), d.Want(2, 1); got != want {
			t.Fatalf("got %d files, want %d", got, want)
		}
		if got, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(got, scan) {
			t.Errorf("got a file of %d bytes and error %v, want the %d bytes that were sent", len(got), err, len(scan))
		}
		flash := person.Follow(second).Text("success")
		if len(flash) != d.Want(2, 1) || !strings.Contains(flash[0], "Emmy: 12.50 ” was added successfully.") {
			t.Errorf("got the messages %q, want %d that it was added", flash, d.Want(2, 1))
		}
		if again := person.Open("/admin/shop/invoice/").Text("success"); len(again) != 0 {
			t.Errorf("got %q again, want each message once", again)
		}
	})
}

// The same at the same time, as Enter and a click, or two tabs, are.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	const times = 4
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site, person := open(t, d)
		answers := person.SendAtOnce(filled(person, "Emmy").Press("_addanother"), times)
		same(t, answers...)
		if got, want := answers[0].Location(), "/admin/shop/invoice/add/"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := site.count("shop_invoice"), d.Want(times, 1); got != want {
			t.Errorf("got %d invoices, want %d", got, want)
		}
	})
}

// Where a name is unique the application refuses the second click: the person
// gets an error, although it was done.
func TestUniqueName(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site, person := open(t, d)
		sent := person.Open("/admin/auth/group/add/").Form("group_form").Set("name", "readers").Press("_save")
		if want := "application/x-www-form-urlencoded"; sent.ContentType != want {
			t.Errorf("got a form of type %q, want %q", sent.ContentType, want)
		}
		first, second := person.Send(sent), person.Send(sent)
		if first.Status != http.StatusFound {
			t.Fatalf("got %d, want 302: %.2000s", first.Status, first.Body)
		}
		if d.Protected {
			same(t, first, second)
		} else if second.Status != http.StatusOK || !strings.Contains(string(second.Body), "already exists") {
			t.Errorf("got %d, want 200 and that it already exists: %.2000s", second.Status, second.Body)
		}
		if got := site.count("auth_group"); got != 1 {
			t.Errorf("got %d groups, want 1", got)
		}
	})
}

// Two invoices that look alike are two, when the form was opened two times; and
// so are two that differ, when the person went back and changed something.
func TestAnotherIntent(t *testing.T) {
	t.Parallel()
	site, person := open(t, apps.Door{Protected: true})
	for i := range 2 {
		if got := person.Send(filled(person, "Emmy").Press("_save")); got.Status != http.StatusFound {
			t.Fatalf("invoice %d: got %d, want 302", i+1, got.Status)
		}
	}
	form := filled(person, "Sofya")
	person.Send(form.Press("_save"))
	person.Send(form.Set("amount", "99.00").Press("_save"))
	if got := site.count("shop_invoice"); got != 4 {
		t.Errorf("got %d invoices, want 4", got)
	}
}

// A form that the application gives back for correction is sent again, corrected.
func TestValidation(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site, person := open(t, d)
		back := person.Follow(person.Send(filled(person, "Emmy").Set("amount", "much").Press("_save")))
		if got := back.Text("errorlist"); len(got) != 1 || got[0] != "Enter a number." {
			t.Fatalf("got the complaints %q, want one", got)
		}
		form := back.Form("invoice_form")
		if got := form.Value("customer"); got != "Emmy" {
			t.Errorf("got the customer %q, want what was typed", got)
		}
		sent := form.Set("amount", "3").Press("_save")
		same(t, person.Send(sent), person.Send(sent))
		if got, want := site.count("shop_invoice"), d.Want(2, 1); got != want {
			t.Errorf("got %d invoices, want %d", got, want)
		}
	})
}

// Saving a change twice is logged twice; deleting twice, which succeeds once,
// tells the person that there was nothing to delete.
func TestChangeAndDelete(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site, person := open(t, d)
		person.Send(filled(person, "Emmy").Press("_save"))
		change := "/admin/shop/invoice/1/change/"
		sent := person.Open(change).Form("invoice_form").Set("state", "paid").Press("_continue")
		first, second := person.Send(sent), person.Send(sent)
		same(t, first, second)
		if first.Location() != change {
			t.Errorf("got %q, want %q", first.Location(), change)
		}
		if got, want := site.count("django_admin_log"), 1+d.Want(2, 1); got != want {
			t.Errorf("got %d lines in the log, want %d", got, want)
		}
		if got := person.Follow(second).Form("invoice_form").Value("state"); got != "paid" {
			t.Errorf("got the state %q, want paid", got)
		}

		sent = person.Open("/admin/shop/invoice/1/delete/").PostForm().Press("")
		first, second = person.Send(sent), person.Send(sent)
		if want := "/admin/shop/invoice/"; first.Location() != want {
			t.Errorf("got %q, want %q", first.Location(), want)
		}
		if d.Protected {
			same(t, first, second)
		} else if want := "/admin/"; second.Location() != want {
			t.Errorf("got %q, want %q: it is gone", second.Location(), want)
		}
		if got := site.count("shop_invoice"); got != 0 {
			t.Errorf("got %d invoices, want none", got)
		}
	})
}

// An action asks back: the page that the first POST is answered with holds the
// form of the second.
func TestAction(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site, person := open(t, d)
		for _, name := range []string{"Emmy", "Sofya"} {
			person.Send(filled(person, name).Press("_save"))
		}
		form := person.Open("/admin/shop/invoice/").Form("changelist-form")
		ask := form.Set("action", "delete_selected").Set("_selected_action", "1").Press("index")
		page := person.Follow(person.Send(ask))
		if got := page.PostForm().Has("_semel"); got != d.Protected {
			t.Errorf("got a token %v in a page that answers a POST, want %v", got, d.Protected)
		}
		sent := page.PostForm().Press("")
		first, second := person.Send(sent), person.Send(sent)
		if first.Location() != "/admin/shop/invoice/" {
			t.Fatalf("got %d %q, want 302 to the list: %.2000s", first.Status, first.Location(), first.Body)
		}
		same(t, first, second)
		if got := site.count("shop_invoice"); got != 1 {
			t.Errorf("got %d invoices, want 1", got)
		}
		if got := person.Follow(second).Text("success"); len(got) != 1 {
			t.Errorf("got the messages %q, want one", got)
		}
	})
}

// Logging in works as without the gateway, even after a wrong password, and the
// forms of a person who is not logged in are refused by Django.
func TestLogIn(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site := start(t)
		address := site.address
		if d.Protected {
			address = apps.Protect(t, address, rules)
		}
		person := apps.NewPerson(t, address)
		page := person.Open("/admin/")
		if page.URL.Path != "/admin/login/" {
			t.Fatalf("got %s, want the page to log in", page.URL)
		}
		form := page.Form("login-form").Set("username", user).Set("password", "wrong")
		back := person.Follow(person.Send(form.Press("")))
		if got := back.Text("errornote"); len(got) != 1 {
			t.Errorf("got the complaints %q, want one", got)
		}
		answer := person.Send(back.Form("login-form").Set("username", user).Set("password", password).Press(""))
		if answer.Location() != "/admin/" || person.Cookie("sessionid") == "" {
			t.Fatalf("got %d %q and no session, want to be logged in", answer.Status, answer.Location())
		}
		form = filled(person, "Emmy")
		person.Open("/admin/logout/")
		if got := person.Send(form.Press("_save")); got.Status == http.StatusOK || site.count("shop_invoice") != 0 {
			t.Errorf("got %d and %d invoices, want a refusal, without a log-in", got.Status, site.count("shop_invoice"))
		}
	})
}

// What Django refuses for want of its CSRF token is not remembered: the same
// form with it is done.
func TestCSRF(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site, person := open(t, d)
		form := filled(person, "Emmy")
		token := form.Value("csrfmiddlewaretoken")
		if got := person.Send(form.Set("csrfmiddlewaretoken", "forged").Press("_save")); got.Status != http.StatusForbidden {
			t.Errorf("got %d, want 403", got.Status)
		}
		if got := person.Send(form.Set("csrfmiddlewaretoken", token).Press("_save")); got.Status != http.StatusFound {
			t.Errorf("got %d, want 302", got.Status)
		}
		if got := site.count("shop_invoice"); got != 1 {
			t.Errorf("got %d invoices, want 1", got)
		}
	})
}

// Every page that links lead to looks the same behind the gateway.
func TestTour(t *testing.T) {
	t.Parallel()
	site := start(t)
	direct, through := logIn(t, site.address), logIn(t, apps.Protect(t, site.address, rules))
	for _, name := range []string{"Emmy", "Sofya", "<script>alert('Ada')</script>", "कोवालेव्स्काया"} {
		direct.Send(filled(direct, name).Attach("scan", "scan.txt", []byte("scan of "+name)).Press("_save"))
	}
	direct.Open("/admin/shop/invoice/") // reads the messages
	tour := &apps.Tour{
		Direct: direct, Through: through, Limit: 100,
		From: []string{"/admin/", "/admin/shop/invoice/?q=Emmy", "/admin/shop/invoice/1/delete/", "/media/scans/scan.txt", "/admin/nowhere/"},
		Leave: func(path string) bool {
			sorted := strings.Contains(path, "o=") || strings.Contains(path, "o%3D") // many ways to sort the same list
			return strings.HasPrefix(path, "/admin/logout/") || sorted
		},
	}
	seen := tour.Walk(t)
	t.Logf("%+v", seen)
	if seen.Answers < 60 || seen.Pages < 30 || seen.Inserted < 20 {
		t.Errorf("got %+v, want a tour that is worth it", seen)
	}
}
