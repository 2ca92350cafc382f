// Package secret holds the values that a study keeps secret: where they come from, and
// how they are masked in what others print. A value is read once, stays in memory, and
// prints as [secret] whatever way it is formatted.
//
// It must not know studies, nor how a value gets into an instance.
package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/application/manifest/objects"
	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
)

// The sizes of a value. Text as short as a word occurs by chance, and masking it would
// change results.
const (
	Least = 8
	Most  = 64 * quantity.KiB
)

// AsFile is Source.As of a value that commands get in a file. AtPath is that of one which a
// single service gets in a file at a path of its own, and no other command; OfService that of
// one which a single service gets as a variable.
const (
	AsFile    = "file"
	AtPath    = "path"
	OfService = "service"
)

// Source says where a value comes from and how commands get it. It has no value, and
// can be stored.
type Source struct {
	// Name of the environment variable that commands have.
	Name string `yaml:"-" json:"name"`
	File string `yaml:"file" json:"file,omitempty"` // that has the value
	Env  string `yaml:"env" json:"env,omitempty"`   // tare's own variable that has it, instead
	// Key of the value in a Secret of Kubernetes, where File is a manifest.
	Key string `yaml:"-" json:"key,omitempty"`
	// As is variable, or file: the variable then has the path of a file in the memory of
	// the instance. "" is variable.
	As string `yaml:"as" json:"as,omitempty"`
	// User owns that file; "" is root.
	User string `yaml:"user" json:"user,omitempty"`
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Validate checks a source. Messages begin with the key that they are about, if there
// is one.
func (s Source) Validate() error {
	switch {
	case !variable.MatchString(s.Name):
		return fmt.Errorf("%q is not a valid name of an environment variable: use letters, digits and _", s.Name)
	case (s.File == "") == (s.Env == ""):
		return fmt.Errorf("secret %s: needs either file, a file with the value, or env, an environment variable of tare's", s.Name)
	case s.Env != "" && !variable.MatchString(s.Env):
		return strictyaml.AtKey("env", "%q is not a valid name of an environment variable: use letters, digits and _", s.Env)
	case s.As != "" && s.As != AsFile && s.As != "variable":
		return strictyaml.AtKey("as", "%q is not known: choose variable or file", s.As)
	case s.User != "" && s.As != AsFile:
		return strictyaml.AtKey("user", "owns the file of a secret, which needs as: file")
	}
	return nil
}

// Parse reads the value of a flag: NAME of a variable of tare's own, or NAME=FILE.
func Parse(text string) (s Source, err error) {
	var inFile bool
	if s.Name, s.File, inFile = strings.Cut(text, "="); !inFile {
		s.Env = s.Name
	} else if s.File != "" {
		if s.File, err = filepath.Abs(s.File); err != nil {
			return s, err
		}
	}
	return s, s.Validate()
}

// Text is a secret value. However it is formatted or encoded, it is [secret].
type Text struct{ value []byte }

const hidden = "[secret]"

// String hides the value.
func (Text) String() string { return hidden }

// GoString hides the value.
func (Text) GoString() string { return hidden }

// Format hides the value from all verbs.
func (Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText hides the value, in JSON too.
func (Text) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Reveal returns the value, for its way into an instance.
func (t Text) Reveal() []byte { return bytes.Clone(t.value) }

// Secret is a value with its source.
type Secret struct {
	Source
	Text Text
}

// Set is the secrets of a run. A nil set has none, and masks nothing.
type Set struct {
	Secrets []Secret
	// Warnings are about where the values were read.
	Warnings []string
	mask     mask
}

// Format hides the values, which the mask has too.
func (s *Set) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// Read reads the values. Variables are removed from this process' environment, so that
// programs that it starts do not inherit them, and it leaves no core file from then on.
func Read(sources []Source) (*Set, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	s := &Set{}
	var values [][]byte
	for _, source := range sources {
		value, warning, err := source.read()
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", source.Name, err)
		}
		if warning != "" {
			s.Warnings = append(s.Warnings, fmt.Sprintf("secret %s: %s", source.Name, warning))
		}
		s.Secrets = append(s.Secrets, Secret{source, Text{value}})
		values = append(values, value)
	}
	for _, source := range sources {
		if source.Env != "" {
			_ = os.Unsetenv(source.Env)
		}
	}
	s.mask = newMask(values)
	noCore()
	return s, nil
}

func (s Source) read() (value []byte, warning string, err error) {
	if s.Env != "" {
		text, set := os.LookupEnv(s.Env)
		if !set {
			return nil, "", fmt.Errorf("the environment variable %s, which has its value, is not set: export it, also to resume a run", s.Env)
		}
		value = []byte(text)
	} else if s.Key != "" {
		if value, err = objects.SecretValue(s.File, s.Key); err != nil {
			return nil, "", err
		}
		return value, "", s.Check(value) // as it is, with the end of its line
	} else if value, warning, err = readFile(s.File); err != nil {
		return nil, "", err
	}
	if !s.inFile() {
		value = bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
	}
	return value, warning, s.Check(value)
}

// Check says why a value from the source cannot be a secret.
func (s Source) Check(value []byte) error {
	switch n := len(bytes.TrimSpace(value)); {
	case n < Least:
		return fmt.Errorf("the value from %s has %d characters; with fewer than %d it could not be masked in outputs", s.from(), n, Least)
	case len(value) > int(Most):
		return fmt.Errorf("the value from %s is longer than %s", s.from(), Most)
	case !s.inFile() && bytes.IndexByte(value, 0) >= 0:
		return fmt.Errorf("the value from %s has a zero byte, which no environment variable can have: use as: file", s.from())
	}
	return nil
}

func (s Source) from() string {
	if s.Env != "" {
		return "the environment variable " + s.Env
	}
	if s.Key != "" {
		return "the Secret " + strings.TrimPrefix(s.Key, "/") + " of " + s.File
	}
	return s.File
}

func readFile(path string) (value []byte, warning string, err error) {
	file, err := bounded.Open(path)
	if err != nil {
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			err = fmt.Errorf("its file %s: %w", path, failed.Err)
		}
		return nil, "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Mode().Perm()&0o044 != 0 {
		warning = fmt.Sprintf("other users can read %s: chmod 600 %s", path, path)
	}
	if value, err = bounded.ReadAll(file, Most); err != nil {
		return nil, "", fmt.Errorf("its file %s: %w", path, err)
	}
	return value, warning, nil
}

// noCore keeps the memory of this process out of core files. A process of another user
// than root stays dumpable, or it could not set up user namespaces.
func noCore() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil {
		// A program that /proc/sys/kernel/core_pattern names gets a core file with a limit of
		// 0 too, and with 1 it does not (core(5); do_coredump in fs/coredump.c of Linux).
		limit.Cur = min(1, limit.Max)
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &limit)
	}
	if os.Geteuid() == 0 {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
}

// GiveBack sets the variables again that Read removed, for a later Read of this process.
func (s *Set) GiveBack() {
	if s == nil {
		return
	}
	for _, one := range s.Secrets {
		if one.Env != "" {
			_ = os.Setenv(one.Env, string(one.Text.value)) // it was one before
		}
	}
}

// Variables are the secrets that are variables, NAME=VALUE. They are not to be kept.
func (s *Set) Variables() (env []string) {
	if s == nil {
		return nil
	}
	for _, one := range s.Secrets {
		if !one.inFile() && one.As != OfService {
			env = append(env, one.Name+"="+string(one.Text.value))
		}
	}
	return env
}

// Found returns the name of a secret whose value is in a text; "" for none.
func (s *Set) Found(text string) string {
	if s != nil {
		for _, one := range s.Secrets {
			if m := newMask([][]byte{one.Text.value}); string(m.all([]byte(text))) != text {
				return one.Name
			}
		}
	}
	return ""
}

// Mask replaces the values in a text.
func (s *Set) Mask(text string) string {
	if s == nil {
		return text
	}
	return string(s.mask.all([]byte(text)))
}

// Error masks the message of an error.
func (s *Set) Error(err error) error {
	if err == nil || s.Mask(err.Error()) == err.Error() {
		return err
	}
	return &masked{s.Mask(err.Error()), err}
}

type masked struct {
	text string
	err  error
}

func (m *masked) Error() string { return m.text }
func (m *masked) Unwrap() error { return m.err }

// Words are the source in a line: CI_TOKEN, from the environment variable CI_TOKEN.
func (s Source) Words() string {
	words := s.Name + ", from " + s.from()
	if s.As == AsFile {
		words += ", as a file"
	}
	return words
}

func (s Source) inFile() bool { return s.As == AsFile || s.As == AtPath }

// Named is the secret of a name; nil where there is none.
func (s *Set) Named(name string) *Secret {
	if s == nil {
		return nil
	}
	return lists.Find(s.Secrets, func(one *Secret) bool { return one.Name == name })
}
