package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

const value = "s3cr\"et\\with <signs>"

func setOf(values ...string) *Set {
	s := &Set{}
	var all [][]byte
	for n, v := range values {
		s.Secrets = append(s.Secrets, Secret{Source{Name: fmt.Sprintf("S%d", n)}, Text{[]byte(v)}})
		all = append(all, []byte(v))
	}
	s.mask = newMask(all)
	return s
}

func TestAValuePrintsAsNothingWhateverItIsFormattedWith(t *testing.T) {
	s := setOf(value)
	encoded, err := json.Marshal(s.Secrets)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "secret", s.Secrets[0].Text, "all", s)
	texts := []string{string(encoded), logged.String(), s.Secrets[0].Text.String(), s.Secrets[0].Text.GoString()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, s), fmt.Sprintf(verb, *s.Secrets[0].clone()), fmt.Sprintf(verb, s.Secrets))
	}
	for _, text := range texts {
		if strings.Contains(text, "s3cr") || strings.Contains(text, "73336372") || strings.Contains(text, "115 51") {
			t.Errorf("it prints as %s", text)
		}
	}
}

func (s Secret) clone() *Secret { return &s }

func TestAVariableIsRemovedUntilItIsGivenBack(t *testing.T) {
	t.Setenv("TARE_TEST_SECRET", "a value of some length")
	source, err := Parse("TARE_TEST_SECRET")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := Read([]Source{source})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Variables(); len(got) != 1 || got[0] != "TARE_TEST_SECRET=a value of some length" {
			t.Errorf("%q", got)
		}
		if _, set := os.LookupEnv("TARE_TEST_SECRET"); set {
			t.Error("programs that are started would have it")
		}
		s.GiveBack()
	}
}

func TestAllFormsOfAValueAreMasked(t *testing.T) {
	s := setOf(value, "-----BEGIN-----\nfirst line of it\nshort\n-----END-----\n")
	escaped, _ := json.Marshal(value)
	for text, want := range map[string]string{
		"nothing of it":                     "nothing of it",
		"<" + value + ">" + value:           "<***>***",
		string(escaped):                     `"***"`,
		fmt.Sprintf("%q", value):            `"***"`,
		fmt.Sprintf("%x|%X", value, value):  "***|***",
		"s3cr%22et%5Cwith+%3Csigns%3E":      "***",
		"czNjciJldFx3aXRoIDxzaWducz4=":      "***4=", // its last character depends on what follows
		"the first line of it, and short":   "the ***, and short",
		"-----BEGIN-----\nfirst line of it": "-----BEGIN-----\n***",
		value[:len(value)-1] + "!":          value[:len(value)-1] + "!",
	} {
		if got := s.Mask(text); got != want {
			t.Errorf("%q is masked as %q, not %q", text, got, want)
		}
	}
	// user:password and the like
	for before := range 3 {
		text := strings.Repeat("u", before) + value + "!!"
		if got := s.Mask(encode(text)); !strings.Contains(got, Masked) || len(got) > 12 {
			t.Errorf("base64 of %q is masked as %s", text, got)
		}
	}
	var none *Set
	if none.Mask(value) != value || none.Error(nil) != nil {
		t.Error("no secrets mask something")
	}
	if err := s.Error(fmt.Errorf("of %s: %w", value, os.ErrNotExist)); err.Error() != "of ***: file does not exist" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if s.Found("a "+value) != "S0" || s.Found("a") != "" {
		t.Error("a value is not found")
	}
}

func encode(text string) string {
	encoded, _ := json.Marshal([]byte(text))
	return strings.Trim(string(encoded), `"`)
}

// However a text is cut into writes, it is masked as it would be as a whole.
func TestAValueThatComesInPiecesIsMasked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching(`[ab]{8,14}`)
		values := rapid.SliceOfN(letters, 1, 3).Draw(t, "values")
		text := rapid.StringMatching(`[abc]{0,40}`).Draw(t, "before") + values[0] + rapid.StringMatching(`[abc]{0,40}`).Draw(t, "after")
		s := setOf(values...)
		var out bytes.Buffer
		w := s.Writer(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if written, err := w.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatal(written, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil || out.String() != s.Mask(text) || strings.Contains(out.String(), values[0]) {
			t.Fatalf("%q with %q gives %q, not %q (%v)", text, values, out.String(), s.Mask(text), err)
		}
	})
}

func TestWhereAValueCannotComeFromIsSaid(t *testing.T) {
	directory := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(directory, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(directory, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		source Source
		want   string
	}{
		{Source{Env: "TARE_TEST_NOT_SET"}, "secret X: the environment variable TARE_TEST_NOT_SET, which has its value, is not set: export it, also to resume a run"},
		{Source{File: directory + "/none"}, "secret X: its file " + directory + "/none: no such file or directory"},
		{Source{File: directory}, "secret X: its file " + directory + ": is a directory"},
		{Source{File: pipe}, "secret X: " + pipe + " is not a regular file"},
		{Source{File: file("short", "1234567\n", 0o600)}, "secret X: the value from " + directory + "/short has 7 characters; with fewer than 8 it could not be masked in outputs"},
		{Source{File: file("long", strings.Repeat("x", int(Most)+1), 0o600)}, "secret X: its file " + directory + "/long: it is too long: the limit is 64KiB"},
		{Source{File: file("zero", "12345\x006789", 0o600)}, "secret X: the value from " + directory + "/zero has a zero byte, which no environment variable can have: use as: file"},
	} {
		c.source.Name = "X"
		if _, err := Read([]Source{c.source}); err == nil || err.Error() != c.want {
			t.Errorf("%v\nnot\n%s", err, c.want)
		}
	}
	t.Setenv("TARE_TEST_SET", "from the environment")
	s, err := Read([]Source{{Name: "A", Env: "TARE_TEST_SET"}, {Name: "B", Env: "TARE_TEST_SET"}, {Name: "C", File: file("open", "from a file\n", 0o644)}, {Name: "D", File: file("kept", "kept whole\n", 0o600), As: AsFile}})
	if err != nil {
		t.Fatal(err)
	}
	if _, set := os.LookupEnv("TARE_TEST_SET"); set {
		t.Error("programs that tare starts inherit the variable")
	}
	var got []string
	for _, one := range s.Secrets {
		got = append(got, string(one.Text.Reveal()))
	}
	if fmt.Sprintf("%q", got) != `["from the environment" "from the environment" "from a file" "kept whole\n"]` {
		t.Errorf("%q", got)
	}
	if len(s.Warnings) != 1 || s.Warnings[0] != "secret C: other users can read "+directory+"/open: chmod 600 "+directory+"/open" {
		t.Errorf("%q", s.Warnings)
	}
}

func TestAProcessThatHasReadSecretsLeavesNoCoreFile(t *testing.T) {
	var before, after unix.Rlimit
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err := errors.Join(err, unix.Getrlimit(unix.RLIMIT_CORE, &before)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(unix.Setrlimit(unix.RLIMIT_CORE, &before), unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(dumpable), 0, 0, 0)); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("TEST_SECRET", "a secret value")
	if _, err := Read([]Source{{Name: "S", Env: "TEST_SECRET"}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &after); err != nil || after.Cur > 1 || after.Max != before.Max {
		t.Errorf("%+v, %v", after, err)
	}
	now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || os.Geteuid() == 0 && now != 0 {
		t.Errorf("dumpable is %d, %v", now, err)
	}
}
