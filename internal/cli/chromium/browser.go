package chromium

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrMissing is the error when no Chromium is installed.
var ErrMissing = errors.New("no Chromium was found on PATH (install one: apt-get install chromium-headless-shell, or chromium, or Google Chrome)")

const (
	// startTimeout bounds the start of the process.
	startTimeout = 60 * time.Second
	// commandTimeout bounds a command, which is answered at once unless the browser hangs.
	commandTimeout = 60 * time.Second
	// maxMessageBytes bounds a message: a page may be long.
	maxMessageBytes = 256 << 20
	// maxEvents bounds the events that wait for their handler; a page that makes more ends the browser.
	maxEvents = 100_000
	// maxStderr bounds how much of the browser's own words an error quotes.
	maxStderr = 400
)

// names returns the programs to look for, the smallest first.
func names() []string {
	return []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}
}

// Find returns the path of a Chromium on PATH, or [ErrMissing].
func Find() (string, error) {
	for _, name := range names() {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrMissing
}

// Options configure [Open]. Nil is complete.
type Options struct {
	// Path is the program. Default: [Find].
	Path string
	// Flags are flags of the program, such as --proxy-server=….
	Flags []string
}

// Browser is a running Chromium. It is safe for concurrent use. [Open] is the only way to get one.
type Browser struct {
	stop    context.CancelFunc // kills the process
	home    string             // its profile's folder
	version string
	out     *os.File // commands
	stderr  *tail

	done    chan struct{}  // closed when the process has ended
	workers sync.WaitGroup // reader, dispatcher, the wait for the process
	events  chan event

	writing sync.Mutex // one command at a time

	mu      sync.Mutex // guards the fields below
	last    int64
	waiting map[int64]chan reply // nil when nothing is heard any more
	tabs    map[string]*Tab      // by session
}

// reply answers a command.
type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// event is a message that answers no command.
type event struct {
	Method  string          `json:"method"`
	Session string          `json:"sessionId"`
	Params  json.RawMessage `json:"params"`
}

// Open starts a Chromium without a window. It ends with ctx, and with [Browser.Close].
func Open(ctx context.Context, o *Options) (b *Browser, err error) {
	if o == nil {
		o = &Options{}
	}
	path := o.Path
	if path == "" {
		if path, err = Find(); err != nil {
			return nil, err
		}
	}
	home, err := os.MkdirTemp("", "semel-chromium-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the browser: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	b = &Browser{
		stop: stop, home: home, stderr: &tail{}, done: make(chan struct{}), events: make(chan event, maxEvents),
		waiting: map[int64]chan reply{}, tabs: map[string]*Tab{},
	}
	if err := b.start(ctx, path, o); err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("start %s: %w", path, err), os.RemoveAll(home))
	}
	began, end := context.WithTimeout(ctx, startTimeout)
	defer end()
	var version struct{ Product string }
	if err := b.call(began, "", "Browser.getVersion", nil, &version); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w%s", path, err, b.stderr.quoted()), b.Close())
	}
	b.version = strings.Replace(strings.TrimPrefix(version.Product, "Headless"), "Chrome/", "Chromium ", 1)
	return b, nil
}

// Version is the browser's name and version.
func (b *Browser) Version() string { return b.version }

func (b *Browser) arguments(o *Options) []string {
	all := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + b.home, "--no-first-run", "--no-default-browser-check",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-sync",
		"--disable-dev-shm-usage", "--disable-gpu", "--disable-breakpad", "--disable-popup-blocking", "--disable-prompt-on-repost",
		"--disable-features=Translate,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable", "--mute-audio", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain",
		"--window-size=1280,900",
	}
	if os.Geteuid() == 0 {
		all = append(all, "--no-sandbox") // Chromium refuses to run as root with it
	}
	return append(append(all, o.Flags...), "about:blank")
}

// start starts the process, with its commands on descriptor 3 and its answers on 4.
func (b *Browser) start(ctx context.Context, path string, o *Options) error {
	commands, out, err := os.Pipe()
	if err != nil {
		return err
	}
	in, answers, err := os.Pipe()
	if err != nil {
		return errors.Join(err, commands.Close(), out.Close())
	}
	b.out = out
	cmd := exec.CommandContext(ctx, path, b.arguments(o)...) //nolint:gosec // a browser that the person has installed.
	cmd.ExtraFiles = []*os.File{commands, answers}
	cmd.Stderr = b.stderr
	cmd.Env = append(slices.Clone(os.Environ()), "HOME="+b.home)
	ownGroup(cmd)
	err = cmd.Start()
	err = errors.Join(err, commands.Close(), answers.Close())
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	b.workers.Go(func() {
		_ = cmd.Wait() // it was killed, or ended on its own: both show as a closed pipe
		endGroup(cmd)
		close(b.done)
		_ = in.Close() // a child that outlived it would hold the pipe open
	})
	b.workers.Go(func() { b.read(in) })
	b.workers.Go(b.dispatch)
	return nil
}

// Close ends the browser with its children, and removes its folder.
func (b *Browser) Close() error {
	b.stop()
	b.workers.Wait()
	err := b.out.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(b.home))
}

// read passes on messages, until the pipe ends.
func (b *Browser) read(in *os.File) {
	defer close(b.events)
	defer b.stop() // nothing can be heard any more
	defer b.abandon()
	messages := bufio.NewScanner(in)
	messages.Buffer(nil, maxMessageBytes)
	messages.Split(untilNUL)
	for messages.Scan() {
		var m struct {
			ID int64 `json:"id"`
			reply
			event
		}
		if json.Unmarshal(messages.Bytes(), &m) != nil {
			return
		}
		if m.ID == 0 {
			select {
			case b.events <- m.event:
			default:
				return
			}
			continue
		}
		b.mu.Lock()
		to := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		if to != nil {
			to <- m.reply
		}
	}
}

// untilNUL splits the pipe into messages.
func untilNUL(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if end := bytes.IndexByte(data, 0); end >= 0 {
		return end + 1, bytes.Clone(data[:end]), nil
	}
	if atEOF && len(data) > 0 {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// abandon ends every wait for an answer, and lets none begin.
func (b *Browser) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, to := range b.waiting {
		close(to)
	}
	b.waiting = nil
}

// dispatch gives events to their tabs, in order.
func (b *Browser) dispatch() {
	for e := range b.events {
		b.mu.Lock()
		t := b.tabs[e.Session]
		b.mu.Unlock()
		if t != nil {
			t.handle(&e)
		}
	}
}

// errEnded is the error of everything after the browser's end.
var errEnded = errors.New("the browser has ended")

// call sends a command and waits for its result, which into takes; into may be nil.
func (b *Browser) call(ctx context.Context, session, method string, params, into any) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	to := make(chan reply, 1)
	id, err := b.send(session, method, params, to)
	defer b.forget(id)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case r, ok := <-to:
		switch {
		case !ok:
			return fmt.Errorf("%s: %w", method, errEnded)
		case r.Error != nil:
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		case into != nil:
			return json.Unmarshal(r.Result, into)
		}
		return nil
	}
}

// forget gives up the wait for an answer.
func (b *Browser) forget(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
}

// send sends a command, and returns its number. Its answer goes to a channel, or nowhere.
func (b *Browser) send(session, method string, params any, to chan reply) (int64, error) {
	b.mu.Lock()
	b.last++
	id, ended := b.last, b.waiting == nil
	if to != nil && !ended {
		b.waiting[id] = to
	}
	b.mu.Unlock()
	if ended {
		return id, errEnded
	}
	text, err := json.Marshal(struct {
		ID      int64  `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{id, session, method, params})
	if err != nil {
		return id, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	select {
	case <-b.done:
		return id, errEnded
	default:
	}
	if _, err := b.out.Write(append(text, 0)); err != nil {
		return id, errEnded
	}
	return id, nil
}

// tail keeps the end of the browser's stderr.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxStderr):]
	return len(p), nil
}

func (t *tail) quoted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.Join(strings.Fields(string(t.text)), " "); text != "" {
		return " (it says: …" + text + ")"
	}
	return ""
}
