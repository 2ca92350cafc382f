package serve

import (
	"bufio"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/serve/index"
)

// events calls do with each server-sent event, until it says no.
func events(t *testing.T, url string, do func(name, data string) bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("%s: %s of type %s", url, response.Status, kind)
	}
	var name string
	var data []string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "" && name != "":
			if !do(name, strings.Join(data, "\n")) {
				return
			}
			name, data = "", nil
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			data = append(data, line[len("data: "):])
		}
	}
	t.Error(errors.Join(errors.New("the stream ended"), lines.Err()))
}

func TestARunUnderWayIsFollowedToItsEnd(t *testing.T) {
	directory, w := runs(t)
	s := serveRuns(t, "", directory)
	run := s.base() + "/runs/" + index.Identity(filepath.Join(directory, "loop-now")) + "/"
	page(t, s.base()+"/")
	if text := page(t, run); !strings.Contains(text, `data-events="/runs/`) || !strings.Contains(text, "so far") {
		t.Errorf("the page does not follow the run:\n%s", text)
	}
	var seen []string
	events(t, run+"events", func(name, data string) bool {
		switch {
		case name == "state" && strings.Contains(data, "Block 3, 6 trials") && len(seen) == 0:
			seen = append(seen, "begun")
			blocks(t, w, 4, 5, 0.12)
		case name == "state" && strings.Contains(data, "Block 5, 10 trials") && len(seen) == 1:
			seen = append(seen, "grown")
			if strings.Contains(data, "<script") {
				t.Errorf("a name became part of the page: %s", data)
			}
			w.Manifest.Sessions[0].Ended, w.Manifest.Sessions[0].Stopped = w.Manifest.Created.AddDate(0, 0, 1), "the budget is used up"
			if err := errors.Join(w.SaveManifest(), w.Close()); err != nil {
				t.Fatal(err)
			}
		case name == "state" && strings.Contains(data, "<strong>ended</strong>: the budget is used up"):
			seen = append(seen, "ended")
		case name == "end":
			seen = append(seen, "end")
			return false
		}
		return true
	})
	if got := strings.Join(seen, " "); got != "begun grown ended end" {
		t.Errorf("the stream had: %s", got)
	}
}

func TestTheServerClosesWhileABrowserFollowsARun(t *testing.T) {
	directory, _ := runs(t)
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/")
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.base()+"/runs/"+index.Identity(filepath.Join(directory, "loop-now"))+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	// Close, in the clean-up, would wait for the follower in vain if it did not end it.
}
