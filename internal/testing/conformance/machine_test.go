package conformance

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tare/internal/environment/machine"
	"tare/internal/environment/native"
	"tare/internal/testing/sshhost"
	"tare/internal/testing/testenv"
)

// sshMachines end the machines that overSSH has started.
var sshMachines []func() error

// overSSH makes a machine that is reached over SSH: a real sshd in a network
// namespace of its own. It lasts until the provider's tests end; a process that
// is started to be killed finds it.
func overSSH(home string) (string, error) {
	beside := filepath.Join(filepath.Dir(home), "machine")
	file := filepath.Join(beside, "options.json")
	if text, err := os.ReadFile(file); !errors.Is(err, fs.ErrNotExist) {
		return string(text), err
	}
	there := filepath.Join(beside, oddHome)
	if err := os.MkdirAll(there, 0o755); err != nil {
		return "", err
	}
	// Only a first sending is of interest, and that of the machine's own tests is one.
	if err := os.Symlink(testenv.Images(), filepath.Join(there, "images")); err != nil {
		return "", err
	}
	n, err := sshhost.Open(beside)
	if err != nil {
		return "", err
	}
	m, err := n.Start()
	if err != nil {
		return "", errors.Join(err, n.Close())
	}
	sshMachines = append(sshMachines, func() error { return errors.Join(m.Stop(), n.Close()) })
	d := m.Destination()
	text, err := json.Marshal(machine.Options{SSH: d.Host, Identity: d.Identity, KnownHosts: d.KnownHosts, Config: d.Config, Home: there, Options: native.Defaults()})
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	return string(text), err
}
