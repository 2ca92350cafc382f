package environment

import "strings"

// FixCode is the kind of a fix. Who acts on a fix asks for its code and fields; String makes
// its words.
type FixCode string

// The codes.
const (
	FixAdvice  FixCode = ""        // Text alone says it
	FixInstall FixCode = "install" // Packages, with Debian's package manager
	FixStart   FixCode = "start"   // a service, with Command or Alternative
	FixRun     FixCode = "run"     // Command, as root
	FixRoot    FixCode = "root"    // running tare as root is enough
	FixScript  FixCode = "script"  // a Script of tare's sources, which installs Program
)

// Fix is what a user can do about a finding.
type Fix struct {
	Code FixCode
	Text string // the words; "" for those that the fields make

	Packages []string
	Service  bool // what is installed is a service, which must run as well

	Command     string
	Alternative string // to Command, where there is no systemd
	Own         bool   // a service of the user's own, which is not started as root

	Script, Arguments string
	Program           string
}

// Advice is a fix that no command is known for.
func Advice(text string) Fix { return Fix{Text: text} }

// Install is the installation of packages.
func Install(packages ...string) Fix { return Fix{Code: FixInstall, Packages: packages} }

// Run is one command as root.
func Run(command string) Fix { return Fix{Code: FixRun, Command: command} }

// AsRoot is to run tare as root; "" is in the usual words.
func AsRoot(text string) Fix {
	if text == "" {
		text = "run tare as root (sudo)"
	}
	return Fix{Code: FixRoot, Text: text}
}

// String is the fix in words; "" for none.
func (f Fix) String() string {
	switch {
	case f.Text != "":
		return f.Text
	case f.Code == FixInstall:
		return "apt-get install -y " + strings.Join(f.Packages, " ")
	case f.Code == FixStart && f.Own:
		return f.Command + " (without systemd: " + f.Alternative + ")"
	case f.Code == FixStart:
		return "sudo " + f.Command + " (without systemd: sudo " + f.Alternative + ")"
	}
	return f.Command
}

// IsZero reports whether there is no fix.
func (f Fix) IsZero() bool { return f.String() == "" }

// MarshalText writes the words, which is what a run directory has of a fix.
func (f Fix) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads words as advice.
func (f *Fix) UnmarshalText(text []byte) error {
	*f = Advice(string(text))
	return nil
}
