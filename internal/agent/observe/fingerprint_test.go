package observe

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func ask(t *testing.T, r Request) Answer {
	t.Helper()
	question, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Fingerprint(bytes.NewReader(question), &out); err != nil {
		t.Fatal(err)
	}
	var a Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTextsLinksAndDirectoriesAreReadAsTheyAreAndAnAbsentOneHasAReason(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{"a": "one\n", "b": "tw\xffo", "sub/c": "three"} {
		os.MkdirAll(filepath.Dir(filepath.Join(directory, name)), 0o755)
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(directory, link); err != nil {
		t.Fatal(err)
	}
	gone := directory + "/gone"
	a := ask(t, Request{Texts: []string{link, gone}, Locations: []string{directory + "/not/yet", "/proc"}})
	for path, want := range map[string]string{link: directory, link + "/a": "one\n", link + "/b": "tw?o"} {
		if a.Texts[path] != want {
			t.Errorf("%s is %q, want %q", path, a.Texts[path], want)
		}
	}
	if _, deep := a.Texts[link+"/sub/c"]; deep || a.Absent[gone] != "no such file or directory" {
		t.Errorf("texts %v, absent %v", a.Texts, a.Absent)
	}
	if p := a.Locations[directory+"/not/yet"]; p.Path != directory || p.Block == 0 {
		t.Errorf("a file that is not there yet would lie at %+v", p)
	}
	if a.System.Release == "" || a.System.PageSize != os.Getpagesize() {
		t.Errorf("the system is %+v", a.System)
	}
}

func TestTheServerIsTheProcessThatItsShellStarted(t *testing.T) {
	log := filepath.Join(t.TempDir(), "server.log")
	c := exec.Command("/bin/sh", "-c", "sleep 600 > "+log+" & echo; wait")
	c.Env = []string{"A=b"}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Skip("needs a shell: ", err)
	}
	var line [1]byte
	if _, err := out.Read(line[:]); err != nil { // the server was forked, and is executed before its descriptors are asked for
		t.Fatal(err)
	}
	child := 0
	for child == 0 {
		child = firstChild(c.Process.Pid)
	}
	defer func() {
		if p, err := os.FindProcess(child); err == nil {
			p.Kill()
		}
		c.Wait()
	}()
	var a Answer
	for filepath.Base(a.Processes["server"].Texts["exe"]) != "sleep" {
		a = ask(t, Request{Processes: map[string]int{"server": c.Process.Pid, "self": 0}})
	}
	p := a.Processes["server"]
	if p.Texts["cmdline"] != "sleep\x00600\x00" || p.Texts["environ"] != "A=b\x00PWD="+os.Getenv("PWD")+"\x00" && !bytes.Contains([]byte(p.Texts["environ"]), []byte("A=b\x00")) {
		t.Errorf("the server is %q with %q", p.Texts["cmdline"], p.Texts["environ"])
	}
	if !slices.ContainsFunc(p.Files, func(f File) bool { return f.Number == 1 && f.Target == log }) {
		t.Errorf("its files are %+v", p.Files)
	}
	if len(p.Libraries) == 0 || p.Texts["limits"] == "" || p.Texts["ns/pid"] == "" {
		t.Errorf("libraries %v, limits %q", p.Libraries, p.Texts["limits"])
	}
	if program := a.Programs[p.Texts["exe"]]; len(program.SHA256) != 64 {
		t.Errorf("its program is %+v", program)
	}
	if self := a.Processes["self"]; self.Texts["limits"] == "" || len(self.Files) > 0 {
		t.Errorf("the process that looks is %+v", self)
	}
}

func TestProgramsAreFoundInPathWithTheirLoaders(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("PATH", directory+":"+os.Getenv("PATH"))
	script := filepath.Join(directory, "script")
	if err := os.WriteFile(script, []byte("#! /bin/sh -e\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("script", filepath.Join(directory, "by-another-name")); err != nil {
		t.Fatal(err)
	}
	a := ask(t, Request{Programs: []string{"by-another-name", "not-there"}})
	sh, _ := filepath.EvalSymlinks("/bin/sh")
	if p := a.Programs["by-another-name"]; p.Path != script || p.Loader != sh || len(p.SHA256) != 64 {
		t.Errorf("%+v", p)
	}
	if p := a.Programs["not-there"]; p.Error == "" || p.Path != "" {
		t.Errorf("%+v", p)
	}
	for _, head := range []string{"", "\x7fELF", "#!", "#!\n", string(make([]byte, 64)), "\x7fELF\x02\x01" + string(bytes.Repeat([]byte{0xff}, 4090))} {
		if got := loader([]byte(head)); got != "" {
			t.Errorf("a file that begins with %.10q has the loader %q", head, got)
		}
	}
}

func TestPackagesAreFoundInTheRecordsOfDpkgAndApk(t *testing.T) {
	if list := []byte("/.\n/bin\n/bin/ls\n/usr/bin/dir\n"); !ownsFile(list, "/usr/bin/ls") || !ownsFile(list, "/usr/bin/dir") || ownsFile(list, "/usr/bin/l") {
		t.Error("a list of dpkg is misread")
	}
	status := []byte("Package: a\nStatus: x\nVersion: 1.0-1\n\nPackage: ab\nStatus: x\n\nPackage: b\nVersion: 2\nDepends: a\n")
	for name, want := range map[string]string{"a": "1.0-1", "ab": "", "b": "2", "c": ""} {
		if got := field(status, "Package: "+name+"\n", "\nVersion: "); got != want {
			t.Errorf("dpkg: %s has version %q, want %q", name, got, want)
		}
	}
	of := map[string]*origin{"/lib/ld-musl-x86_64.so.1": {}, "/usr/bin/x": {}, "/lib/x": {}}
	apk(of, "C:Q1\nP:musl\nV:1.2.4-r2\nF:lib\nR:ld-musl-x86_64.so.1\na:0:0:755\n\nP:x\nV:3\nF:usr/bin\nR:x\n")
	if *of["/lib/ld-musl-x86_64.so.1"] != (origin{"musl", "1.2.4-r2"}) || *of["/usr/bin/x"] != (origin{"x", "3"}) || of["/lib/x"].name != "" {
		t.Errorf("apk: %v", of)
	}
}

func TestTheLoopbackIsListed(t *testing.T) {
	a := ask(t, Request{})
	i := slices.IndexFunc(a.Interfaces, func(i Interface) bool { return i.Loopback })
	if i < 0 {
		t.Skip("needs a loopback: ", a.Absent)
	}
	if lo := a.Interfaces[i]; lo.MTU == 0 || lo.Queue == nil {
		t.Errorf("%+v", lo)
	}
}
