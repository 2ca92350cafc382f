package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/host/cleanup"
	"tare/internal/rundir"
	"tare/internal/testing/sshhost"
)

// The values are distinctive, and have what encoders and messages escape.
const (
	password = `p&ss"w\rd-7f3a<91c>e0/b2`
	key      = "-----BEGIN TEST KEY-----\nS4lTyK3yL1ne0fTheF1rst\nAndTh3Sec0ndL1neOfIt\n-----END TEST KEY-----\n"
)

// leaks are what may stand nowhere: the values, and their usual encodings.
var leaks = sync.OnceValue(func() (list [][]byte) {
	values := append(strings.Split(key, "\n")[1:3], password, key)
	for _, v := range values {
		escaped, _ := json.Marshal(v)
		for _, form := range []string{v, string(escaped[1 : len(escaped)-1]), base64.RawStdEncoding.EncodeToString([]byte(v)),
			base64.RawStdEncoding.EncodeToString([]byte("user:" + v))[8:], hex.EncodeToString([]byte(v))} {
			list = append(list, []byte(form))
		}
	}
	return list
})

func leaked(text []byte) []byte {
	// The last character of base64 depends on what follows.
	for _, form := range leaks() {
		if bytes.Contains(text, form[:len(form)-1]) {
			return form
		}
	}
	return nil
}

// leakedFrom reads in pieces: the disk of a guest has gigabytes.
func leakedFrom(in io.Reader) []byte {
	const longest = 1 << 10
	piece, kept := make([]byte, 1<<20), 0
	for {
		n, err := in.Read(piece[kept:])
		text := piece[:kept+n]
		if form := leaked(text); form != nil || err != nil {
			return form
		}
		kept = copy(piece, text[max(0, len(text)-longest):])
	}
}

// written is what a file has without its holes, of which a disk mostly consists.
func written(file *os.File) io.Reader {
	var parts []io.Reader
	for at := int64(0); ; {
		begin, err := file.Seek(at, unix.SEEK_DATA)
		if err != nil {
			return io.MultiReader(parts...)
		}
		if at, err = file.Seek(begin, unix.SEEK_HOLE); err != nil {
			return io.MultiReader(parts...)
		}
		parts = append(parts, io.NewSectionReader(file, begin, at-begin))
	}
}

// Where a study uses secrets, no other process, user or file gets to know them, although
// the workload prints them in every way.
func TestSecretsReachNoProcessListConfigurationFileOrUser(t *testing.T) {
	for _, kinds := range [][]string{{"docker"}, {"oci", "bubblewrap"}, {"gvisor", "machine"}, {"qemu"}} {
		t.Run(strings.Join(kinds, " "), func(t *testing.T) { scanned(t, kinds) })
	}
}

func scanned(t *testing.T, kinds []string) {
	environments, there := "{native: {}", t.TempDir()
	for _, kind := range kinds {
		options := ""
		if kind == "machine" {
			d := sshhost.New(t).Machine(t).Destination()
			options = fmt.Sprintf("ssh: %q, identity: %q, known_hosts: %q, config: none, home: %q", d.Host, d.Identity, d.KnownHosts, there)
			furnish(t, there)
		} else {
			needsKind(t, kind)
		}
		environments += fmt.Sprintf(", %s: {%s}", kind, options)
	}
	environments += "}"
	h := aHome(t)
	directory := filepath.Dir(h.directory)
	study := secretStudy(t, directory, environments)
	run := filepath.Join(directory, "run")
	p := h.tare(t, "run", study, "--json", "--blocks", "1", "--out", run)
	ended := make(chan bool)
	own := filepath.Base(ownProgramAt(t))
	var seen watched
	work := looked{}
	var scans sync.WaitGroup
	for _, scan := range []func(){
		func() { seen.scan(t, h) },
		// As root: bundles, initramfs, disks, data.
		func() {
			work.noneBelow(t, filepath.Join(h.directory, "work"))
			work.noneBelow(t, there, own)
		},
	} {
		scans.Go(func() {
			often := time.NewTicker(scanInterval)
			defer often.Stop()
			for {
				scan()
				select {
				case <-ended:
					return
				case <-often.C:
				}
			}
		})
	}
	_, text := p.end()
	close(ended)
	scans.Wait()
	if code := p.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("status %d: %s%s", code, p.errs.String(), text)
	}
	if seen.workload == 0 || strings.Contains(environments, "docker") && seen.containers == 0 {
		t.Errorf("the scan saw %d commands of the workload and %d containers: that is no test", seen.workload, seen.containers)
	}
	if form := leaked([]byte(text + p.errs.String())); form != nil {
		t.Errorf("%s is in what tare printed", form)
	}
	result, err := rundir.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range result.Trials {
		if trial.Status != rundir.OK {
			t.Errorf("%s: %s", trial.Environment, trial.Reason)
		}
		for name, want := range map[string]int{"driver.stdout": 4, "driver.stderr": 1, "server.stdout": 1} {
			if out := printed(t, run, trial, name); strings.Count(out, "***") < want {
				t.Errorf("%s of %s: %s", name, trial.Environment, out)
			}
		}
	}
	if files := noneBelow(t, directory, "password", "key"); files < 8 {
		t.Errorf("the run left %d files: that is no test", files)
	}
	h.clean(t)
}

func TestACommandThatIsMeasuredGetsSecrets(t *testing.T) {
	h := aHome(t)
	directory := filepath.Dir(h.directory)
	secretStudy(t, directory, "{}")
	run := filepath.Join(directory, "run")
	t.Setenv("TEST_TOKEN", password)
	p := h.tare(t, "bench", "--env", "native", "--runs", "1", "--out", run, "--secret", "TEST_TOKEN", "--secret", "TEST_PASSWORD="+directory+"/password",
		"--", "sh", "-c", `test "$TEST_TOKEN" = "$TEST_PASSWORD" && printf %s "$TEST_TOKEN" && tr '\0' '\n' < /proc/$PPID/environ`)
	if status, text := p.end(); status != 0 || leaked([]byte(text)) != nil {
		t.Errorf("status %d: %s%s", status, text, p.errs.String())
	}
	result, err := rundir.Open(run)
	if err != nil || len(result.Trials) != 1 || printed(t, run, result.Trials[0], "driver.stdout")[:3] != "***" {
		t.Errorf("%v, %+v", err, result)
	}
	noneBelow(t, directory, "password", "key")
	h.clean(t)
}

func secretStudy(t *testing.T, directory, environments string) string {
	t.Helper()
	pack, err := filepath.Abs("testdata/secrets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	study := filepath.Join(directory, "study.yaml")
	text := fmt.Sprintf(`study: with secrets
baseline: native
secret:
  TEST_PASSWORD: {file: ./password}
  TEST_KEY: {file: ./key, as: file}
environments: %s
workloads: [{use: %q}]
`, environments, pack)
	for path, text := range map[string]string{study: text, filepath.Join(directory, "password"): password + "\n", filepath.Join(directory, "key"): key} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return study
}

// scanInterval is between two scans: what they look at lasts for seconds, and they would
// keep both processors from the run.
const scanInterval = 250 * time.Millisecond

// watched is what a scan saw while a run was under way.
type watched struct{ workload, containers int }

// scan reads what other users and processes can.
func (w *watched) scan(t *testing.T, h home) {
	t.Helper()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		line, _ := os.ReadFile(path)
		if bytes.Contains(line, []byte("$TEST_PASSWORD")) || bytes.Contains(line, []byte("qemu-system")) {
			w.workload++
		}
		if form := leaked(line); form != nil {
			t.Errorf("%s is in the process list: %q", form, line)
		}
	}
	if ids, err := exec.Command("docker", "ps", "-q", "--filter", "label="+cleanup.HomeLabel+"="+h.directory).Output(); err == nil && len(ids) > 0 {
		text, err := exec.Command("docker", append([]string{"inspect"}, strings.Fields(string(ids))...)...).Output()
		if form := leaked(text); form != nil {
			t.Errorf("docker inspect shows %s", form)
		} else if bytes.Contains(text, []byte(`"Privileged": true`)) {
			t.Error("a container is privileged")
		} else if err == nil {
			w.containers++
		}
	}
	other := exec.Command("sh", "-c", `cat /proc/[0-9]*/environ; find "$1" /dev/shm -type f -exec cat {} +`, "sh", h.directory)
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	// Memory holds what it reads only piece by piece: /dev/shm may have a disk.
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	if form := leakedFrom(out); form != nil {
		t.Errorf("another user reads %s", form)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = other.Wait() // a process may end before its environment is read
}

// looked has the files that were looked into: a guest's disk and a container's files have
// gigabytes, and few of them change between two scans.
type looked map[asItIs]bool

// asItIs is a file until it is changed.
type asItIs struct {
	device, inode uint64
	changed       syscall.Timespec
}

// before says whether a file was looked into as it is. One that was changed just now can be
// changed again at the same time by its clock.
func (l looked) before(file *os.File) bool {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &stat); l == nil || err != nil || time.Since(time.Unix(stat.Ctim.Unix())) < time.Second {
		return false
	}
	is := asItIs{stat.Dev, stat.Ino, stat.Ctim}
	was := l[is]
	l[is] = true
	return was
}

// noneBelow looks into every file below a directory, except those of some names, and
// returns how many there were. Files may disappear meanwhile.
func noneBelow(t *testing.T, directory string, except ...string) (files int) {
	t.Helper()
	return looked(nil).noneBelow(t, directory, except...)
}

// noneBelow does it for files that have changed since it looked into them.
func (l looked) noneBelow(t *testing.T, directory string, except ...string) (files int) {
	t.Helper()
	_ = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || slices.Contains(except, entry.Name()) {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer file.Close()
		if l.before(file) {
			return nil
		}
		if form := leakedFrom(written(file)); form != nil {
			t.Errorf("%s has %s", path, form)
		}
		files++
		return nil
	})
	return files
}
