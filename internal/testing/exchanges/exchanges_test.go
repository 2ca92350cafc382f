package exchanges

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnswersAreComparedWithoutOrder(t *testing.T) {
	const (
		whole = `{"id":"a","disks":[{"id":"x"},{"id":"y","size":2}]}`
		same  = `{"disks":[{"id":"y","size":2},{"id":"x"}],"id":"a"}`
		some  = `{"disks":[{"id":"y","size":2},{"id":"x"}]}`
		other = `{"id":"a","disks":[{"id":"y","size":3},{"id":"x"}]}`
	)
	r := &Recording{Program: "A VMM", Version: "1.2"}
	for _, c := range []struct {
		want, got Exchange
		same      bool
	}{
		{Exchange{Status: 200, Answer: []byte(whole)}, Exchange{Status: 200, Answer: []byte(same)}, true},
		{Exchange{Status: 200, Answer: []byte(whole)}, Exchange{Status: 200, Answer: []byte(some)}, false},
		{Exchange{Status: 200, Answer: []byte(some)}, Exchange{Status: 200, Answer: []byte(whole)}, false},
		{Exchange{Status: 200, Answer: []byte(whole)}, Exchange{Status: 200, Answer: []byte(other)}, false},
		{Exchange{Status: 200, Answer: []byte(whole)}, Exchange{Status: 204}, false},
		{Exchange{Status: 204}, Exchange{Status: 204}, true},
		{Exchange{Request: "PUT /x", Body: []byte(`{"a":1}`)}, Exchange{Request: "PUT /x", Body: []byte(`{"a":2}`)}, false},
		{Exchange{Request: "PUT /x", Body: []byte(`{"a": 1}`)}, Exchange{Request: "PUT /x", Body: []byte(`{"a":1}`)}, true},
		{Exchange{Request: "PUT /x"}, Exchange{Request: "PUT /y"}, false},
	} {
		if d := r.difference([]Exchange{c.want}, []Exchange{c.got}); (d == "") != c.same {
			t.Errorf("%+v and %+v: %q", c.want, c.got, d)
		}
	}
	if d := r.difference(nil, []Exchange{{Request: "PUT /x"}}); !strings.Contains(d, "PUT /x") {
		t.Errorf("a request that was not recorded: %q", d)
	}
}

func TestWhatDiffersBetweenRunsIsForgotten(t *testing.T) {
	const dir = "/home/work/id/guest"
	for body, want := range map[string]string{
		`{"pid":4,"version":"54.0.0","net":[{"host_mac":"06:77:b4:f8:13:e7","tap":"port2"}]}`: `{"net":[{"tap":"port2"}]}`,
		`{"line":"quiet tare.net=10.213.0.2/24,10.213.0.1 x","mac":"52:54:0a:d5:00:02"}`:      `{"line":"quiet tare.net= x","mac":"52:54"}`,
		`{"url":"file:///home/work/id/guest/saved"}`:                                          `{"url":"file://DIR/saved"}`,
		"": "",
	} {
		if got := string(neutral([]byte(body), dir)); got != want {
			t.Errorf("%s is kept as %s", body, got)
		}
	}
	if guestOf(dir) != "guest" || guestOf(dir+"/jail/vmm/guest/root") != "guest" {
		t.Errorf("%s and %s", guestOf(dir), guestOf(dir+"/jail/vmm/guest/root"))
	}
}

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	r := &Recording{Program: "A VMM", Version: "1.2", Guests: map[string][]Exchange{
		"two": {{Request: "GET /", Status: 204}},
		"one": {{Request: "GET /", Status: 200, Answer: []byte(`{"a":"<&>"}`)}, {Request: "PUT /x", Body: []byte(`{"b":1}`), Status: 204}},
	}}
	if err := r.Write(first); err != nil {
		t.Fatal(err)
	}
	back, err := Read(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Write(second); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(first)
	b, _ := os.ReadFile(second)
	if !bytes.Equal(a, b) || back.Guests["one"][1].Request != "PUT /x" || !bytes.Contains(a, []byte("<&>")) {
		t.Errorf("%s\nand then\n%s", a, b)
	}
}
