package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serving runs tare serve until the test has asked for a page, and returns its answer.
func serving(t *testing.T, home string, args ...string) (status, text string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		command := newServeCommand(&App{Home: home, Version: "test", Stdout: writer, Stderr: writer})
		command.SetArgs(args)
		err := command.ExecuteContext(ctx)
		ended <- err
		writer.CloseWithError(err)
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	url := strings.Fields(strings.TrimPrefix(line, "runs: "))[0]
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return response.Status, string(body)
}

func TestServeShowsTheRunsOfTheHomeAndOfDirectories(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	reportedRun(t, home)
	if err := os.Rename(reportedRun(t, other), filepath.Join(other, "runs", "loop-2")); err != nil {
		t.Fatal(err)
	}
	args := []string{filepath.Join(other, "runs"), "--listen", "127.0.0.1:0"}
	for range 2 { // the second time from the index
		status, text := serving(t, home, args...)
		if status != "200 OK" || !strings.Contains(text, ">loop-1</a>") || !strings.Contains(text, ">loop-2</a>") {
			t.Errorf("%s: %s", status, text)
		}
	}
	if _, text := serving(t, home, "--listen", "127.0.0.1:0", "--reindex"); strings.Contains(text, "loop-2") {
		t.Error("runs of a directory that is not named are shown")
	}
	info, err := os.Stat(filepath.Join(home, "index"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the index is open to others: %v, %v", info, err)
	}
}

func TestServeKeepsTheIndexInMemoryWhereTheHomeCannotBeWritten(t *testing.T) {
	home := t.TempDir()
	reportedRun(t, home)
	if err := os.WriteFile(filepath.Join(home, "index"), nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	var out strings.Builder
	x, err := openIndex(&App{Home: home, Stderr: &out}, false, []string{filepath.Join(home, "runs")})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, _ := x.List("", 0, 10); len(list) != 1 || !strings.Contains(out.String(), "the index is kept in memory") {
		t.Errorf("%v: %s", list, out.String())
	}
}

func TestServeAsksForATokenWhereOthersCanCome(t *testing.T) {
	home := t.TempDir()
	if status, text := serving(t, home, "--listen", "0.0.0.0:0"); status != "303 See Other" {
		t.Errorf("the printed address: %s: %s", status, text)
	}
	file := filepath.Join(home, "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := serveToken(file, "127.0.0.1:0"); err != nil || token != "0123456789abcdef" {
		t.Errorf("token %q, %v", token, err)
	}
	var said strings.Builder
	(&App{Stdout: &said}).tellAddress("http://127.0.0.1:1/", "0123456789abcdef", file)
	if want := "runs: http://127.0.0.1:1/ (with ?token= and the token of " + file + " at the end; Ctrl-C ends it)\n"; said.String() != want {
		t.Errorf("%q, not %q", said.String(), want)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if token, err := serveToken(file, "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "`chmod 600 "+file+"`") {
			t.Errorf("mode %o: %q, %v", mode, token, err)
		}
	}
	if token, err := serveToken("", "127.0.0.1:0"); err != nil || token != "" {
		t.Errorf("on loopback: token %q, %v", token, err)
	}
}
