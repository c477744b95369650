package clients_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/stripe/stripe-go/v85"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/proof/integration/apps"
)

const orderBody = `{"amount":100,"currency":"usd"}`

// told holds the answer or the error that the program around a client gets.
type told struct {
	Status int
	Body   string
	Error  string
}

// client is one of other people's HTTP clients, set to retry a POST.
type client struct {
	name string
	set  string // what makes it retry, for the page
	post func(tb testing.TB, url, key string) told
}

var modules = apps.Modules("../../../.cache/clients") // installed once for all tests

func clients() []client {
	return []client{
		{"curl 7.88", "`--retry 3 --retry-all-errors --fail`", withCurl},
		{"wget 1.21", "`--tries=4 --retry-on-http-error=502,503`", withWget},
		{"axios-retry 4.5", "`retryCondition: isNetworkError(e) \\|\\| isRetryableError(e)`", inNode("axios-retry")},
		{"got 14.4", "`retry: {limit: 3, methods: ['POST']}`", inNode("got")},
		{"ky 1.8", "`retry: {limit: 3, methods: ['post']}`", inNode("ky")},
		{"p-retry 6.2, fetch", "throws at 500 and above", inNode("p-retry")},
		{"undici 7.10", "`RetryAgent` with `methods: ['POST']`", inNode("undici")},
		{"requests 2.28, urllib3 1.26", "`Retry(allowed_methods={'POST'}, status_forcelist=[502, 503])`", inPython("requests")},
		{"tenacity 8.2, requests", "raises at 500 and above", inPython("tenacity")},
		{"resty 2.17", "`SetRetryCount(3)`, a condition on 500 and above", withResty},
		{"go-retryablehttp 0.7", "nothing", withRetryable},
		{"stripe-node 23.1", "nothing", inNode("stripe-node")},
		{"stripe-go 85.0", "nothing", withStripeGo},
	}
}

// output runs a program, and returns what it printed.
func output(tb testing.TB, env []string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), args[0], args[1:]...)
	cmd.Env = env
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, problem.String())
	}
	return out.String(), err
}

// script runs a client of a script, which prints the end of each key.
func script(tb testing.TB, env []string, args ...string) []told {
	tb.Helper()
	out, err := output(tb, env, args...)
	var got []told
	if err == nil {
		err = json.Unmarshal([]byte(out), &got)
	}
	if err != nil {
		tb.Fatalf("%v: %v\n%s", args, err, out)
	}
	return got
}

func inNode(name string) func(testing.TB, string, string) told {
	return func(tb testing.TB, url, key string) told {
		tb.Helper()
		return node(tb, name, url, key)[0]
	}
}

// node has a client of npm post an order for each key.
func node(tb testing.TB, name, url string, keys ...string) []told {
	tb.Helper()
	args := append([]string{"node", "testdata/clients.mjs", name, url}, keys...)
	return script(tb, []string{"CLIENT_MODULES=" + modules(tb)}, args...)
}

func inPython(name string) func(testing.TB, string, string) told {
	return func(tb testing.TB, url, key string) told {
		tb.Helper()
		if _, err := output(tb, nil, "/usr/bin/python3", "-c", "import requests, tenacity"); err != nil {
			testserver.Missing(tb, "requests or tenacity", "on Debian: apt-get install python3-requests python3-tenacity")
		}
		return script(tb, []string{"PYTHONDONTWRITEBYTECODE=1"}, "/usr/bin/python3", "testdata/clients.py", name, url, key)[0]
	}
}

func withCurl(tb testing.TB, url, key string) told {
	tb.Helper()
	body := filepath.Join(tb.TempDir(), "body")
	out, err := output(tb, nil, "/usr/bin/curl", "-sS", "--retry", "3", "--retry-all-errors", "--fail", "-o", body, "-w", "%{http_code}",
		"-H", "Idempotency-Key: "+key, "-H", "Content-Type: application/json", "-d", orderBody, url)
	return fromFile(tb, out, body, err)
}

func withWget(tb testing.TB, url, key string) told {
	tb.Helper()
	body := filepath.Join(tb.TempDir(), "body")
	_, err := output(tb, nil, "/usr/bin/wget", "-q", "--tries=4", "--waitretry=1", "--retry-on-http-error=502,503", "-O", body,
		"--header=Idempotency-Key: "+key, "--header=Content-Type: application/json", "--post-data="+orderBody, url)
	return fromFile(tb, "201", body, err)
}

// fromFile returns the end of a program that wrote its answer to a file.
func fromFile(tb testing.TB, status, file string, err error) told {
	tb.Helper()
	if err != nil {
		return told{Error: err.Error()}
	}
	var got told
	if _, err := fmt.Sscan(status, &got.Status); err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(file)
	noError(tb, err)
	got.Body = string(text)
	return got
}

// answered returns the end of a client of net/http.
func answered(res *http.Response, err error) told {
	if err != nil {
		return told{Error: err.Error()}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return told{Error: err.Error()}
	}
	return told{Status: res.StatusCode, Body: string(body)}
}

func withResty(tb testing.TB, url, key string) told {
	tb.Helper()
	api := resty.New().SetRetryCount(3).AddRetryCondition(func(r *resty.Response, _ error) bool { return r.StatusCode() >= http.StatusInternalServerError })
	defer api.GetClient().CloseIdleConnections()
	res, err := api.SetLogger(quiet{}).R().SetContext(tb.Context()).SetHeader("Idempotency-Key", key).SetHeader("Content-Type", "application/json").SetBody(orderBody).Post(url)
	if err != nil {
		return told{Error: err.Error()}
	}
	return told{Status: res.StatusCode(), Body: res.String()}
}

func withRetryable(tb testing.TB, url, key string) told {
	tb.Helper()
	api := retryablehttp.NewClient()
	api.Logger = nil
	defer api.HTTPClient.CloseIdleConnections()
	req, err := retryablehttp.NewRequestWithContext(tb.Context(), http.MethodPost, url, []byte(orderBody))
	noError(tb, err)
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set("Content-Type", "application/json")
	return answered(api.Do(req)) //nolint:bodyclose // answered closes it.
}

func withStripeGo(tb testing.TB, url, key string) told {
	tb.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: new(strings.TrimSuffix(url, charges)), HTTPClient: &http.Client{Transport: transport, Timeout: time.Minute}, LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
		EnableTelemetry: new(false), MaxNetworkRetries: new(int64(3)),
	})
	api := stripe.NewClient("sk_test_x", stripe.WithBackends(&stripe.Backends{API: backend}))
	params := &stripe.ChargeCreateParams{Amount: new(int64(100)), Currency: new("usd")}
	params.SetIdempotencyKey(key)
	charge, err := api.V1Charges.Create(tb.Context(), params)
	if failure, ok := errors.AsType[*stripe.Error](err); ok {
		return told{Status: failure.HTTPStatusCode, Error: string(failure.Type) + ": " + failure.Msg}
	}
	if err != nil {
		return told{Error: err.Error()}
	}
	return told{Status: charge.LastResponse.StatusCode, Body: string(charge.LastResponse.RawJSON)}
}

// quiet drops what resty logs.
type quiet struct{}

func (quiet) Errorf(string, ...any) {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Debugf(string, ...any) {}
