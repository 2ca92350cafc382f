package fakevmm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
)

// Serve answers requests at a socket, one at a time as the VMMs do, until the
// program ends.
func Serve(socket string, handle func(w http.ResponseWriter, method, path string, body []byte)) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	turn := make(chan struct{}, 1)
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn <- struct{}{}
		defer func() { <-turn }()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		handle(w, r.Method, r.URL.Path, body)
	}))
}

var unknown = regexp.MustCompile(`unknown field "(.*)"`)

// Decode reads a body strictly. What it says is worded as the VMMs word it.
func Decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if match := unknown.FindStringSubmatch(err.Error()); match != nil {
		return errors.New("unknown field `" + match[1] + "`, expected one of the documented ones at line 1 column 1")
	}
	return err
}
