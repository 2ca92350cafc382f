package docker

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/host/cleanup"
)

// A container has the labels of its image: one that somebody runs from an image with
// tare's labels is not tare's.
func TestTheLabelsOfAnImageDoNotMakeAContainerTares(t *testing.T) {
	const owner, home = "abcdefghijkl", "/home"
	labels := map[string]string{cleanup.Label: owner, cleanup.HomeLabel: home}
	listed, err := json.Marshal([]map[string]any{
		{"Id": "ours", "Names": []string{"/tare-" + owner + "-web"}, "Labels": labels},
		{"Id": "theirs", "Names": []string{"/quirky_wing"}, "Labels": labels},
		{"Id": "another", "Names": []string{"/tare-bbbbbbbbbbbb-web"}, "Labels": labels},
	})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var deleted []string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.50")
		switch {
		case r.Method == http.MethodDelete:
			deleted = append(deleted, filepath.Base(r.URL.Path))
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			_, _ = w.Write(listed)
		case strings.HasSuffix(r.URL.Path, "/networks"):
			_, _ = w.Write([]byte("[]"))
		case !strings.HasSuffix(r.URL.Path, "/_ping"):
			_, _ = w.Write([]byte("{}"))
		}
	})}
	ended := make(chan struct{})
	go func() { _ = server.Serve(listener); close(ended) }()
	_, err = theDocker.sweepAt(t.Context(), "unix://"+socket, home, func(id string) bool { return id == owner })
	server.Close()
	<-ended
	if err != nil || !slices.Equal(deleted, []string{"ours"}) {
		t.Errorf("removed %q, %v", deleted, err)
	}
}
