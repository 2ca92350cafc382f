// Package virtualboxtest builds the fake VBoxManage of package fakevboxmanage, for
// tests. Only tests import it.
package virtualboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/testing/gobuild"
	"tare/internal/testing/sshguest"
	"tare/internal/testing/testenv"
)

const source = "tare/internal/testing/fakevboxmanage"

// Fake builds a fake VBoxManage in a directory, unless it exists. It has a VM named
// template with a snapshot named fresh, which contains this machine's test images.
// Fake returns the options of the kind virtualbox for it.
func Fake(folder string) (options string, err error) {
	program := filepath.Join(folder, "VBoxManage")
	keys, err := sshguest.NewKeys(filepath.Join(folder, "keys"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		if err := gobuild.Build(program, source); err != nil {
			return "", err
		}
		for _, words := range [][]string{
			{"ln", "-s", testenv.Images(), filepath.Join(folder, "images")},
			{program, "createvm", "--name", "template", "--register"},
			{program, "snapshot", "template", "take", "fresh"},
		} {
			if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				return "", fmt.Errorf("%q: %w: %s", words, err, output)
			}
		}
	}
	text, err := json.Marshal(map[string]string{
		"template": "template", "snapshot": "fresh", "program": program, "identity": keys.Identity(), "host_key": keys.HostKey(),
	})
	return string(text), err
}
