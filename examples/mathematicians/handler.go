package mathematicians

import (
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/ids"
)

const pageRows = 100

// nameView is a name in JSON. ids is always empty: versions are in ETag and If-Match.
type nameView struct {
	IDs []string `json:"ids"`
	name
}

// readNamed reads a mathematician as …/new and GET write it. _links says nothing; unique is the one that the body may leave out.
func readNamed(r *http.Request, unique string) (ids.UUID, name, error) {
	asked := struct {
		Unique string
		Name   nameView
		Links  any `json:"_links"`
	}{Unique: unique}
	if err := readJSON(r, &asked); err != nil {
		return ids.UUID{}, name{}, err
	}
	id, err := readUnique("unique", asked.Unique)
	switch {
	case err != nil:
	case len(asked.Name.IDs) > 0:
		err = malformedError("name.ids: must be empty; If-Match names the version that you have seen")
	case asked.Name.First == "":
		err = checkText("name.lastName", asked.Name.Last)
	default:
		err = checkText("name.firstName", asked.Name.First)
		if err == nil && asked.Name.Last != "" {
			err = checkText("name.lastName", asked.Name.Last)
		}
	}
	return id, asked.Name.name, err
}

// mathematicianView is the representation of a mathematician.
type mathematicianView struct {
	Unique ids.UUID        `json:"unique"`
	Name   nameView        `json:"name"`
	Links  map[string]link `json:"_links"`
}

// paperView is the representation of a paper.
type paperView struct {
	Unique ids.UUID        `json:"unique"`
	Author ids.UUID        `json:"author"`
	Title  string          `json:"title"`
	Links  map[string]link `json:"_links"`
}

func (m *mathematician) view() mathematicianView {
	return mathematicianView{m.unique, nameView{[]string{}, m.name}, map[string]link{"self": {m.href()}, "papers": {m.href() + "/papers"}}}
}

func (m *mathematician) href() string { return "/api/mathematicians/" + m.unique.String() }

func (m *mathematician) etag() string { return `"` + strconv.FormatInt(m.version, 10) + `"` }

func (p *paper) view() paperView {
	return paperView{
		p.unique, p.author, p.title,
		map[string]link{"self": {p.href()}, "author": {"/api/mathematicians/" + p.author.String()}},
	}
}

func (p *paper) href() string { return "/api/papers/" + p.unique.String() }

// newID hands out an id in the object to fill in and POST. It is a GET by the
// contract of this API, although it writes: a repetition gets another id, and
// the first stays unused.
func (s *Server) newID(kind, create string, template map[string]any) func(*http.Request) (answer, error) {
	return func(r *http.Request) (answer, error) {
		id := s.uuids.New()
		if err := s.db.handOut(r.Context(), kind, id, s.maxUnused); err != nil {
			return answer{}, err
		}
		body := maps.Clone(template)
		body["unique"] = id
		body["_links"] = map[string]link{"create": {create}, "self": {create + "/" + id.String()}}
		return answer{status: http.StatusOK, body: body}, nil
	}
}

func (s *Server) createMathematician(r *http.Request) (answer, error) {
	id, asked, err := readNamed(r, "")
	if err != nil {
		return answer{}, err
	}
	m, err := s.db.createMathematician(r.Context(), id, asked)
	return answer{status: http.StatusCreated, location: m.href(), body: m.view()}, err
}

// ofPath serves what the path names.
func ofPath(serve func(r *http.Request, id ids.UUID) (answer, error)) func(*http.Request) (answer, error) {
	return func(r *http.Request) (answer, error) {
		id, err := readUnique("the path", r.PathValue("unique"))
		if err != nil {
			return answer{}, err
		}
		return serve(r, id)
	}
}

func (s *Server) showMathematician(r *http.Request, id ids.UUID) (answer, error) {
	m, err := s.db.findMathematician(r.Context(), id)
	return answer{status: http.StatusOK, etag: m.etag(), body: m.view()}, err
}

func (s *Server) renameMathematician(r *http.Request, id ids.UUID) (answer, error) {
	named, asked, err := readNamed(r, id.String())
	if err != nil {
		return answer{}, err
	}
	if named != id {
		return answer{}, malformedError("unique: is another one than in the path")
	}
	m, err := s.db.renameMathematician(r.Context(), id, asked, ifMatch(r.Header.Values("If-Match")))
	return answer{status: http.StatusOK, etag: m.etag(), body: m.view()}, err
}

// ifMatch reads If-Match (RFC 9110, section 13.1.1). Without it every version
// matches.
func ifMatch(lines []string) func(version int64) bool {
	return func(version int64) bool {
		for tag := range strings.SplitSeq(strings.Join(lines, ","), ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || tag == `"`+strconv.FormatInt(version, 10)+`"` {
				return true
			}
		}
		return len(lines) == 0
	}
}

func (s *Server) listMathematicians(r *http.Request) (answer, error) {
	after, err := readAfter(r)
	if err != nil {
		return answer{}, err
	}
	found, err := s.db.listMathematicians(r.Context(), after, pageRows+1)
	views := make([]mathematicianView, len(found))
	for i := range found {
		views[i] = found[i].view()
	}
	links := map[string]link{"self": {r.URL.RequestURI()}, "new": {"/api/mathematicians/new"}}
	if len(views) > pageRows {
		views = views[:pageRows]
		links["next"] = link{"/api/mathematicians?after=" + views[pageRows-1].Unique.String()}
	}
	return answer{status: http.StatusOK, body: map[string]any{"mathematicians": views, "_links": links}}, err
}

// readAfter reads where a page begins: after an id, or at the first row.
func readAfter(r *http.Request) (ids.UUID, error) {
	query := r.URL.Query()
	if !query.Has("after") {
		return ids.UUID{}, nil
	}
	return readUnique("after", query.Get("after"))
}

func (s *Server) createPaper(r *http.Request) (answer, error) {
	var asked struct {
		Unique, Author, Title string
		Links                 any `json:"_links"`
	}
	if err := readJSON(r, &asked); err != nil {
		return answer{}, err
	}
	id, err := readUnique("unique", asked.Unique)
	if err != nil {
		return answer{}, err
	}
	author, err := readUnique("author", asked.Author)
	if err != nil {
		return answer{}, err
	}
	if err := checkText("title", asked.Title); err != nil {
		return answer{}, err
	}
	p, err := s.db.createPaper(r.Context(), paper{unique: id, author: author, title: asked.Title})
	return answer{status: http.StatusCreated, location: p.href(), body: p.view()}, err
}

func (s *Server) showPaper(r *http.Request, id ids.UUID) (answer, error) {
	p, err := s.db.findPaper(r.Context(), id)
	return answer{status: http.StatusOK, body: p.view()}, err
}

func (s *Server) listPapers(r *http.Request, author ids.UUID) (answer, error) {
	after, err := readAfter(r)
	if err != nil {
		return answer{}, err
	}
	found, err := s.db.listPapers(r.Context(), author, after, pageRows+1)
	views := make([]paperView, len(found))
	for i := range found {
		views[i] = found[i].view()
	}
	here := "/api/mathematicians/" + author.String()
	links := map[string]link{"self": {r.URL.RequestURI()}, "author": {here}, "new": {"/api/papers/new"}}
	if len(views) > pageRows {
		views = views[:pageRows]
		links["next"] = link{here + "/papers?after=" + views[pageRows-1].Unique.String()}
	}
	return answer{status: http.StatusOK, body: map[string]any{"papers": views, "_links": links}}, err
}
