package conformance

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/environment"
)

// numbers is a text of lines that no two parts of are equal.
func numbers(to int) []byte {
	var text bytes.Buffer
	for n := range to {
		fmt.Fprintln(&text, n)
	}
	return text.Bytes()
}

// An input is copied, which works everywhere, and is a file to the command.
func theInputIsTheSameEverywhere(t *testing.T, s *scene) {
	const input = "/data/input"
	text := numbers(200_000)
	if err := s.shared.Agent().WriteFrom(t.Context(), input, 0o644, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%x  -\n", sha256.Sum256(text))
	for n := range 2 {
		var out, errs bytes.Buffer
		exit, err := s.shared.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", "test -f /proc/self/fd/0 && sha256sum"}, Input: input, Stdout: &out, Stderr: &errs})
		if err != nil || !exit.OK() || out.String() != want {
			t.Errorf("run %d: %+v, %v: %q, want %q: %s", n+1, exit, err, out.String(), want, errs.String())
		}
	}
}

// aMountedProgram works on what is mounted, and prints what it saw.
const aMountedProgram = `#!/bin/sh
cd /work/deep
sha256sum numbers
stat -c '%n %A %u %g %s' numbers program
cat /etc/only.conf
for at in /etc/only.conf /srv/read/only/new /srv/read/only/deep/numbers; do
	(echo changed > $at) 2> /dev/null && echo "$at is not read-only"
done
echo "$@" > /work/result
`

func directoriesOfThisMachineAreMounted(t *testing.T, s *scene) {
	options, err := s.decode(s.home)
	if err != nil {
		t.Fatal(err)
	}
	if err := environment.CheckMounts(s.kind, options); err != nil {
		t.Logf("refused before the start: %v", err)
		return
	}
	shown := filepath.Join(filepath.Dir(s.home), "shown")
	text := numbers(100_000)
	for _, err := range []error{
		os.MkdirAll(filepath.Join(shown, "deep"), 0o755),
		os.WriteFile(filepath.Join(shown, "deep/numbers"), text, 0o644),
		os.WriteFile(filepath.Join(shown, "deep/program"), []byte(aMountedProgram), 0o755),
		os.WriteFile(filepath.Join(shown, "only.conf"), []byte("answer = 42\n"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.belongs(t, shown)
	i := s.start(t, "mounts", func(r *environment.Request) {
		r.Mounts = []environment.Mount{
			{From: shown, To: "/work"}, {From: shown, To: "/srv/read/only", ReadOnly: true},
			{From: filepath.Join(shown, "only.conf"), To: "/etc/only.conf", ReadOnly: true},
		}
	})
	var out, errs bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/work/deep/program", "one", "two three"}, Dir: "/work/deep", Stdout: &out, Stderr: &errs})
	want := fmt.Sprintf("%x  numbers\nnumbers -rw-r--r-- 0 0 %d\nprogram -rwxr-xr-x 0 0 %d\nanswer = 42\n", sha256.Sum256(text), len(text), len(aMountedProgram))
	if err != nil || !exit.OK() || out.String() != want {
		t.Errorf("%+v, %v: %q, want %q: %s", exit, err, out.String(), want, errs.String())
	}
	if result, err := os.ReadFile(filepath.Join(shown, "result")); err != nil || string(result) != "one two three\n" {
		t.Errorf("what was written inside is %q here: %v", result, err)
	}
	s.end(t, i)
	if left, err := os.ReadFile(filepath.Join(shown, "deep/numbers")); err != nil || !bytes.Equal(left, text) {
		t.Errorf("after the stop the mounted file is another one: %v", err)
	}
}

// belongs gives what is below a directory to the user of a rootless engine, who is root in its
// containers, and with SELinux to containers, as chcon does.
func (s *scene) belongs(t *testing.T, directory string) {
	t.Helper()
	_, err := os.Stat("/sys/fs/selinux/enforce")
	labelled := err == nil
	err = filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		if s.rootless() {
			err = errors.Join(err, os.Lchown(path, rootlessUser, rootlessUser))
		}
		if labelled {
			err = errors.Join(err, unix.Lsetxattr(path, "security.selinux", []byte("system_u:object_r:container_file_t:s0\x00"), 0))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
