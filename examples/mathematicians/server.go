package mathematicians

import (
	"log/slog"
	"net/http"

	"github.com/semel-dev/semel/ids"
)

const (
	// DefaultMaxUnused is the default of [Options.MaxUnused].
	DefaultMaxUnused = 100_000

	maxBodyBytes = 64 << 10
)

// Options are the settings of a [Server]. The zero value and nil are complete.
type Options struct {
	// MaxUnused bounds the ids that were handed out and not used yet: one more
	// is refused with 503. Default [DefaultMaxUnused].
	MaxUnused int
	// ClientIDs accepts every UUID, of any version, in a POST, as if it had been
	// handed out. False accepts only those of …/new, and answers 404 to others.
	ClientIDs bool
	// Logger receives errors. Nil means none are logged.
	Logger *slog.Logger
}

// Server is the API: an [http.Handler] over a SQLite file, safe for concurrent
// use. [Open] is the only way to get one.
type Server struct {
	db        *database
	uuids     ids.UUIDs
	maxUnused int
	log       *slog.Logger
	mux       *http.ServeMux
}

// Open opens the SQLite file at path, creating it if absent. Several processes
// may have it open. opts may be nil.
func Open(path string, opts *Options) (*Server, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Server{maxUnused: opts.MaxUnused, log: opts.Logger, mux: http.NewServeMux()}
	if s.maxUnused <= 0 {
		s.maxUnused = DefaultMaxUnused
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.db, err = openDatabase(path, opts.ClientIDs); err != nil {
		return nil, err
	}
	s.route("GET /api/mathematicians/new", s.newID(kindMathematician, "/api/mathematicians", map[string]any{
		"name": map[string]any{"ids": []string{}, "firstName": nil, "lastName": nil},
	}))
	s.route("POST /api/mathematicians", s.createMathematician)
	s.route("GET /api/mathematicians", s.listMathematicians)
	s.route("GET /api/mathematicians/{unique}", ofPath(s.showMathematician))
	s.route("PUT /api/mathematicians/{unique}", ofPath(s.renameMathematician))
	s.route("GET /api/mathematicians/{unique}/papers", ofPath(s.listPapers))
	s.route("GET /api/papers/new", s.newID(kindPaper, "/api/papers", map[string]any{"author": nil, "title": nil}))
	s.route("POST /api/papers", s.createPaper)
	s.route("GET /api/papers/{unique}", ofPath(s.showPaper))
	return s, nil
}

// Close closes the file. Requests after it fail; stop the HTTP server first.
func (s *Server) Close() error { return s.db.db.Close() }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	s.mux.ServeHTTP(w, r)
}

func (s *Server) route(pattern string, serve func(r *http.Request) (answer, error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		reply, err := serve(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		s.write(w, r, reply)
	})
}
