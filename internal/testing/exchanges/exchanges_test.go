package exchanges

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const (
	whole = `{"id":"a","disks":[{"id":"x","size":null},{"id":"y","size":2}],"version":"1.2"}`
	some  = `{"disks":[{"id":"y","size":2},{"id":"x"}],"version":"9.0"}`
	other = `{"disks":[{"id":"y","size":3},{"id":"x"}],"version":"9.0"}`
)

func TestAnswersAreComparedWithoutVersionAndOrder(t *testing.T) {
	want, got := &Recording{Program: "real", Version: "1.2"}, &Recording{Program: "double", Version: "9.0"}
	for _, c := range []struct {
		expected, actual Exchange
		part, same       bool
	}{
		{Exchange{Status: 200, Answer: []byte(whole)}, Exchange{Status: 200, Answer: []byte(some)}, true, true},
		{Exchange{Status: 200, Answer: []byte(whole)}, Exchange{Status: 200, Answer: []byte(some)}, false, false},
		{Exchange{Status: 200, Answer: []byte(whole)}, Exchange{Status: 200, Answer: []byte(other)}, true, false},
		{Exchange{Status: 400, Answer: []byte(whole)}, Exchange{Status: 400, Answer: []byte(some)}, true, false},
		{Exchange{Status: 200, Answer: []byte(whole)}, Exchange{Status: 204}, true, false},
		{Exchange{Status: 204}, Exchange{Status: 204}, true, true},
		{Exchange{Status: 0}, Exchange{Status: 204}, true, false},
		{Exchange{Status: 400, Answer: []byte(`["No 1.2"]`)}, Exchange{Status: 400, Answer: []byte(`["No 9.0"]`)}, true, true},
		{Exchange{Status: 400, Answer: []byte(`["No"]`)}, Exchange{Status: 400, Answer: []byte(`["Yes"]`)}, true, false},
	} {
		if d := Difference(want, c.expected, got, c.actual, c.part); (d == "") != c.same {
			t.Errorf("%d %s and %d %s: %q", c.expected.Status, c.expected.Answer, c.actual.Status, c.actual.Answer, d)
		}
	}
}

func TestWhatDiffersBetweenRunsIsForgotten(t *testing.T) {
	var answer any
	if err := json.Unmarshal([]byte(`{"pid":4,"net":[{"host_mac":"06:77:b4:f8:13:e7","tap":"port2"}]}`), &answer); err != nil {
		t.Fatal(err)
	}
	forget(answer)
	if data, err := json.Marshal(answer); err != nil || string(data) != `{"net":[{"tap":"port2"}]}` {
		t.Errorf("%s, %v", data, err)
	}
}

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	r := &Recording{Program: "A VMM", Version: "1.2", Sessions: []*Session{
		{Name: "one", Guest: true, Exchanges: []Exchange{{Request: "GET /", Status: 200, Answer: []byte(`{"a":"<&>"}`)}, {Request: "PUT /x", Body: []byte(`{"b":1}`), Status: 204}}},
		{Name: "two", Continues: "one", Arguments: []string{"-v"}, Exchanges: []Exchange{{Request: "GET /", Status: 0}}},
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
	if !bytes.Equal(a, b) || back.Session("two").Exchanges[0].Request != "GET /" || !bytes.Contains(a, []byte("<&>")) {
		t.Errorf("%s\nand then\n%s", a, b)
	}
}

func TestTheKernelHasBothEntryPoints(t *testing.T) {
	file, err := elf.NewFile(bytes.NewReader(kernel()))
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Progs) != 2 || file.Progs[0].Type != elf.PT_LOAD || file.Entry != file.Progs[0].Paddr {
		t.Errorf("%+v", file.FileHeader)
	}
	note := make([]byte, 20)
	if _, err := file.Progs[1].ReadAt(note, 0); err != nil || !bytes.HasPrefix(note[12:], []byte("Xen\x00")) || note[8] != 18 || note[19] != 1 {
		t.Errorf("%v, %v", note, err)
	}
}
