package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tare/internal/rundir"
	"tare/internal/serve/index"
)

// How often a run under way is looked at, and how long without news before a sign of life.
const (
	interval = time.Second
	silence  = 15 * time.Second
)

// follow sends the state of a run whenever it changes, as server-sent events, until the
// run stops.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	run, err := s.found(r.PathValue("id"))
	if err != nil {
		s.failed(w, r, err)
		return
	}
	select {
	case s.events <- struct{}{}:
		defer func() { <-s.events }()
	default:
		s.failed(w, r, &problem{http.StatusServiceUnavailable, fmt.Sprintf("%d browsers follow a run already: close one", followers)})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	stream := &stream{w: w, control: http.NewResponseController(w)}
	stream.send("retry: 3000\n\n")
	s.watch(r, run, stream)
}

// watch looks at a run again and again. What a run costs to read limits how often it is.
func (s *Server) watch(r *http.Request, run index.Run, to *stream) {
	last, told := "", time.Now()
	for to.err == nil {
		began := time.Now()
		working := rundir.UnderWay(run.Directory) // before the files: it may end meanwhile
		if now := rundir.Stamp(run.Directory); now != last || !working {
			p, err := s.progress(r.Context(), run)
			if err != nil {
				return // the browser asks again, and sees why
			}
			text, err := render("state", p)
			if err != nil {
				s.Log(err.Error())
				return
			}
			to.event("state", text)
			last, told = now, time.Now()
		}
		if !working {
			to.event("end", "")
			return
		}
		if time.Since(told) > silence {
			to.send(": the run goes on\n\n")
			told = time.Now()
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(max(interval, 10*time.Since(began))):
		}
	}
}

// stream writes server-sent events.
type stream struct {
	w       io.Writer
	control *http.ResponseController
	err     error
}

func (s *stream) event(name, data string) {
	s.send("event: " + name + "\ndata: " + strings.ReplaceAll(strings.ReplaceAll(data, "\r", ""), "\n", "\ndata: ") + "\n\n")
}

func (s *stream) send(text string) {
	if s.err != nil {
		return
	}
	// A client that reads nothing must not hold the place of another one.
	if s.err = s.control.SetWriteDeadline(time.Now().Add(silence)); s.err == nil {
		_, s.err = io.WriteString(s.w, text)
	}
	if s.err == nil {
		s.err = s.control.Flush()
	}
}
