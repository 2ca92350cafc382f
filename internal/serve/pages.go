package serve

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
	"tare/internal/report/html"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/serve/index"
	"tare/internal/verdict"
)

// ownPolicy is the content security policy of the pages of this package. Style and script
// are files of their own: nothing inline is obeyed.
const ownPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var (
	//go:embed assets/serve.css
	ownStyle string
	//go:embed assets/serve.js
	ownScript []byte
	//go:embed templates
	templates embed.FS
)

var pageTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"time":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"change": func(c verdict.Contrast) string { return minus(model.EstimateText(&c)) },
		"ends": func(c verdict.Contrast) string {
			if c.NoRatio() {
				return model.NoRatioReason(&c)
			}
			return minus(model.IntervalText(&c))
		},
		"word":   func(c verdict.Contrast) string { return model.VerdictWord(&c) },
		"mark":   func(c verdict.Contrast) string { return model.ConfoundMark(&c) },
		"counts": func(c verdict.Contrast) string { return model.BlockCount(&c) },
		"value": func(c verdict.Contrast, side verdict.Side) string {
			if side.N == 0 {
				return model.Missing
			}
			return minus(model.Figure(side.Median, c.Unit))
		},
		"place":   model.LevelTitle,
		"percent": percent,
		"between": between,
		"ratio":   func(r float64) string { return minus(verdict.ChangeOf(r)) },
		"sentence": func(text string) string {
			first, size := utf8.DecodeRuneInString(text)
			return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
		},
		// Query escapes all that an address gives a meaning to.
		"query": func(s index.Series) template.URL { return template.URL(s.Query()) }, //nolint:gosec // see above
	}).ParseFS(templates, "templates/*.tmpl"))
})

// percent is a log ratio as a change.
func percent(d float64) string { return minus(verdict.Change(d)) }

// between is the interval of a log ratio.
func between(estimate, low, high float64) string { return minus(verdict.EndsText(estimate, low, high)) }

// minus puts a real minus before figures.
func minus(text string) string {
	if rest, is := strings.CutPrefix(text, "-"); is {
		text = "−" + rest
	}
	return strings.NewReplacer("[-", "[−", " -", " −").Replace(text)
}

func (s *Server) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page(s.list))
	mux.HandleFunc("GET /compare", s.page(s.compare))
	mux.HandleFunc("GET /history", s.page(s.histories))
	mux.HandleFunc("GET /history/of", s.page(s.history))
	mux.HandleFunc("GET /runs/{id}/{$}", s.page(s.run))
	mux.HandleFunc("GET /runs/{id}/report", s.report)
	mux.HandleFunc("GET /runs/{id}/raw/{path...}", s.raw)
	mux.HandleFunc("GET /runs/{id}/events", s.follow)
	style := []byte(html.Style() + ownStyle)
	mux.HandleFunc("GET /", s.page(func(r *http.Request) (view, error) {
		return view{}, notFound("there is no page %s", visible.Line(r.URL.Path))
	}))
	mux.HandleFunc("GET /assets/serve.css", asset("text/css; charset=utf-8", style))
	mux.HandleFunc("GET /assets/serve.js", asset("text/javascript; charset=utf-8", ownScript))
	return mux
}

func asset(kind string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
}

// problem is an error with a status for the client.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func notFound(format string, words ...any) error {
	return &problem{http.StatusNotFound, fmt.Sprintf(format, words...)}
}

// view is what the frame of a page needs.
type view struct {
	Title   string
	Name    string // of the template
	Data    any
	Version string
	Here    string // the place in the navigation that the page is or belongs to
}

// page serves a page that is made from the index as it is now.
func (s *Server) page(make func(*http.Request) (view, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.refresh(r.Context())
		v, err := make(r)
		if err == nil {
			err = s.write(w, http.StatusOK, v)
		}
		s.failed(w, r, err)
	}
}

func (s *Server) refresh(ctx context.Context) {
	if err := s.runs.Refresh(ctx); err != nil && ctx.Err() == nil {
		s.Log(err.Error()) // what is known already is shown
	}
}

func (s *Server) write(w http.ResponseWriter, status int, v view) error {
	v.Version = s.Version
	switch v.Name {
	case "list", "run", "compare":
		v.Here = "/"
	case "histories", "history":
		v.Here = "/history"
	}
	text, err := render("frame", v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
	return nil
}

func render(name string, data any) (string, error) {
	var out bytes.Buffer
	if err := pageTemplates().ExecuteTemplate(&out, name, data); err != nil {
		return "", err
	}
	return visible.Text(out.String()), nil
}

// Body is the content of the page.
func (v view) Body() (template.HTML, error) {
	text, err := render(v.Name, v.Data)
	return template.HTML(text), err //nolint:gosec // html/template made it
}

// failed answers with an error, if there is one.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil || r.Context().Err() != nil {
		return
	}
	p := (*problem)(nil)
	if !errors.As(err, &p) {
		s.Log(fmt.Sprintf("%s: %v", visible.Line(r.URL.Path), err))
		p = &problem{http.StatusInternalServerError, err.Error()}
	}
	w.Header().Set("Content-Security-Policy", ownPolicy)
	title := "This cannot be shown"
	if p.status == http.StatusNotFound {
		title = "Not found"
	}
	if err := s.write(w, p.status, view{Title: title, Name: "problem", Data: p.text}); err != nil {
		http.Error(w, p.text, p.status)
	}
}

// most is how many runs a page of the list shows.
const most = 100

type listed struct {
	Runs               []index.Run
	First, Last, All   int // the runs of this page, counted from 1
	Unreadable         int // of all runs, whatever is searched for
	Search             string
	Newer, Older       string // the addresses of the next pages; "" for none
	Comparable, Filled bool   // two runs of the page can be compared; there is any
}

func (s *Server) list(r *http.Request) (view, error) {
	words := r.URL.Query().Get("search")
	if len(words) > 200 {
		return view{}, &problem{http.StatusBadRequest, "A search has at most 200 characters."}
	}
	page := 1
	if text := r.URL.Query().Get("page"); text != "" {
		var err error
		if page, err = strconv.Atoi(text); err != nil || page < 1 || page > 1e6 {
			return view{}, &problem{http.StatusBadRequest, "A page of the list has a number from 1 on."}
		}
	}
	skip := (page - 1) * most
	runs, all := s.runs.List(words, skip, most)
	if len(runs) == 0 && page > 1 {
		return view{}, notFound("The list ends before page %d.", page)
	}
	v := listed{Runs: runs, First: skip + 1, Last: skip + len(runs), All: all, Search: words, Filled: len(runs) > 0, Unreadable: s.runs.Unreadable()}
	readable := 0
	for i := range runs {
		if runs[i].State = state(runs[i]); runs[i].State != rundir.Unreadable {
			readable++
		}
	}
	v.Comparable = readable > 1
	address := func(page int) string {
		q := url.Values{"page": {strconv.Itoa(page)}}
		if words != "" {
			q.Set("search", words)
		}
		return "/?" + q.Encode()
	}
	if page > 1 {
		v.Newer = address(page - 1)
	}
	if v.Last < all {
		v.Older = address(page + 1)
	}
	return view{Title: "Runs", Name: "list", Data: v}, nil
}

// underWay is the state of a run that a process works on.
const underWay = "under way"

func state(r index.Run) string {
	if r.State == rundir.NotEnded && rundir.UnderWay(r.Directory) {
		return underWay
	}
	return r.State
}

// found is the run that a request names.
func (s *Server) found(id string) (index.Run, error) {
	run, known := s.runs.Find(id)
	if !known {
		return index.Run{}, notFound("there is no run %s here: it may have been removed; the list has all runs", visible.Line(id))
	}
	return run, nil
}

// read waits for a place and reads a run.
func (s *Server) read(ctx context.Context, of index.Run) (*rundir.Run, error) {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.busy }()
	run, err := rundir.Open(of.Directory)
	if err != nil {
		return nil, &problem{http.StatusUnprocessableEntity, fmt.Sprintf("the run %s cannot be read: %v", of.Name, err)}
	}
	return run, nil
}

// progress is what the page about a run shows and a running one sends again and again.
type progress struct {
	index.Run
	State      string
	Last       string // the last trial
	Incomplete string
	Tables     []contrasts
	Decided    int    // contrasts of the tables that no further block changes
	All        int    // that can have a verdict
	Others     int    // contrasts that are not primary
	Footnote   string // about the mark of confounds; "" where no contrast has it
	Failures   []failure
	MoreFailed int // trials that failed for further reasons
}

// contrasts is a table of primary contrasts.
type contrasts struct {
	Caption, What string // What heads the column of what is compared
	UnderWay      bool
	Rows          []contrast
}

type contrast struct {
	verdict.Contrast
	What    string        // the environment, or the part that a step of a ladder adds
	History *index.Series // nil where no other run has it
}

// failure is a reason for which trials failed.
type failure struct {
	Reason string
	Trials int
}

// mostFailures is how many reasons are listed; the report has all.
const mostFailures = 3

func (s *Server) run(r *http.Request) (view, error) {
	run, err := s.found(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	p, err := s.progress(r.Context(), run)
	return view{Title: run.Name, Name: "run", Data: p}, err
}

func (s *Server) progress(ctx context.Context, run index.Run) (progress, error) {
	read, err := s.read(ctx, run)
	if err != nil {
		return progress{}, err
	}
	run.Listed = rundir.Entry(filepath.Base(run.Directory), read, nil)
	p := progress{Run: run, State: state(run), Incomplete: read.Incomplete}
	if n := len(read.Trials); n > 0 && p.State == underWay {
		t := read.Trials[n-1]
		p.Last = fmt.Sprintf("block %d, %s in %s: %s", t.Block, model.LevelTitle(t.Workload, t.Level), t.Environment, t.Status)
	}
	p.fail(read.Trials)
	runs := s.runs.Counts(read.Plan.Name)
	// This run is one of those only when it has ended.
	least := 2
	if run.State == rundir.NotEnded {
		least = 1
	}
	whole := contrasts{Caption: "Primary metrics against " + visible.Line(read.Plan.Baseline), What: "Environment", UnderWay: p.State == underWay}
	parts := contrasts{Caption: "Primary metrics: each part of the ladder against what is before it", What: "Part", UnderWay: p.State == underWay}
	for _, c := range model.Contrasts(read) {
		if !c.Primary {
			p.Others++
			continue
		}
		if model.ConfoundMark(&c) != "" {
			p.Footnote = model.MarkMeans
		}
		if !c.Barred() {
			p.All++
		}
		if !c.Open && !c.Barred() {
			p.Decided++
		}
		if c.Part != "" {
			parts.Rows = append(parts.Rows, contrast{Contrast: c, What: c.Name})
			continue
		}
		row := contrast{Contrast: c, What: c.Environment}
		if c.BaseLevel != "" {
			row.What += " against " + c.BaseLevel
		} else if series := index.SeriesOf(read.Plan.Name, c); runs[series] >= least {
			row.History = &series
		}
		whole.Rows = append(whole.Rows, row)
	}
	for _, t := range []contrasts{whole, parts} {
		if len(t.Rows) > 0 && len(read.Trials) > 0 {
			p.Tables = append(p.Tables, t)
		}
	}
	return p, nil
}

// fail counts the trials that failed by their reasons, those that failed most first.
func (p *progress) fail(trials []rundir.Trial) {
	counts := map[string]int{}
	for _, t := range trials {
		if t.Status == rundir.Failed {
			counts[t.Reason]++
		}
	}
	for reason, n := range counts {
		p.Failures = append(p.Failures, failure{reason, n})
	}
	slices.SortFunc(p.Failures, func(a, b failure) int {
		return cmp.Or(cmp.Compare(b.Trials, a.Trials), cmp.Compare(a.Reason, b.Reason))
	})
	for _, f := range p.Failures[min(mostFailures, len(p.Failures)):] {
		p.MoreFailed += f.Trials
	}
	p.Failures = p.Failures[:min(mostFailures, len(p.Failures))]
}

// report serves the HTML report. It is a function of the run and of those that explain it, so
// it is kept until the run changes, or another one is added or ends.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	s.refresh(r.Context())
	run, err := s.found(r.PathValue("id"))
	if err != nil {
		s.failed(w, r, err)
		return
	}
	runs, all := s.runs.List("", 0, most)
	ended := lists.Filter(runs, func(r index.Run) bool { return r.State != rundir.NotEnded })
	page, err := s.reports.get(run.ID, fmt.Sprint(rundir.Stamp(run.Directory), all, len(ended)), func() ([]byte, error) {
		read, err := s.read(r.Context(), run)
		if err != nil {
			return nil, err
		}
		in := model.Of(read, model.Contrasts(read))
		if s.Explained != nil {
			in.Explained = s.Explained(in)
		}
		var text bytes.Buffer
		err = html.WriteWithin(&text, in, "/runs/"+run.ID+"/")
		return text.Bytes(), err
	})
	if err != nil {
		s.failed(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", html.Policy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(page))
}

// raw serves the raw output of a trial as plain text. The path is looked up among those
// that the trials of the run name.
func (s *Server) raw(w http.ResponseWriter, r *http.Request) {
	run, err := s.found(r.PathValue("id"))
	if err != nil {
		s.failed(w, r, err)
		return
	}
	read, err := s.read(r.Context(), run)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	file, err := read.OpenRaw(rundir.RawDirectory + "/" + r.PathValue("path"))
	if err != nil {
		s.failed(w, r, notFound("%v", err))
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	http.ServeContent(w, r, "", time.Time{}, file)
}
