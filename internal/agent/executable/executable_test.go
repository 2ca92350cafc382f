package executable

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheProgramIsWrittenOnceForEachVersion(t *testing.T) {
	directory := t.TempDir() + "/new"
	one := fstest.MapFS{"tare-agent": {Data: []byte("one")}}
	path, err := write(one, "", directory)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Fatal(info, err)
	}
	again, err := write(one, "", directory)
	later, _ := os.Stat(again)
	if err != nil || again != path || !os.SameFile(info, later) {
		t.Errorf("it was written twice: %s, %s, %v", path, again, err)
	}
	other, err := write(fstest.MapFS{"tare-agent": {Data: []byte("two")}}, "", directory)
	if err != nil || other == path {
		t.Errorf("another version lies at %s, %v", other, err)
	}
	if entries, _ := os.ReadDir(directory); len(entries) != 2 {
		t.Errorf("the directory contains %v", entries)
	}
}

func TestAnIncompleteFileIsReplaced(t *testing.T) {
	directory, files := t.TempDir(), fstest.MapFS{"tare-agent": {Data: []byte("whole")}}
	path, err := write(files, "", directory)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(path, []byte("ha"), 0o755)
	if _, err := write(files, "", directory); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "whole" {
		t.Errorf("it holds %q", b)
	}
}

func TestAMissingAgentIsReportedWithTheBuildCommand(t *testing.T) {
	if _, err := write(fstest.MapFS{}, t.TempDir(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Error(err)
	}
}

func TestAnAgentBesideTheProgramIsTakenWhereNoneIsEmbedded(t *testing.T) {
	beside := t.TempDir()
	if err := os.WriteFile(beside+"/tare-agent", []byte("installed"), 0o755); err != nil {
		t.Fatal(err)
	}
	for embedded, want := range map[string]string{"": "installed", "embedded": "embedded"} {
		files := fstest.MapFS{}
		if embedded != "" {
			files["tare-agent"] = &fstest.MapFile{Data: []byte(embedded)}
		}
		path, err := write(files, beside, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(path); string(b) != want {
			t.Errorf("it holds %q, not %q", b, want)
		}
	}
}
