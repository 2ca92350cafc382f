// Package virtualboxtest builds the double of VBoxManage, for tests: see
// testdata/vboxmanage. Only tests import it.
package virtualboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/testing/sshguest"
	"tare/internal/testing/testenv"
)

const source = "tare/internal/testing/fakevboxmanage"

// Fake makes a VBoxManage in a folder, with a VM called template that has a
// snapshot called fresh and this machine's test images inside, once. It returns the options of the kind virtualbox
// that lead to it.
func Fake(folder string) (options string, err error) {
	program := filepath.Join(folder, "VBoxManage")
	keys, err := sshguest.NewKeys(filepath.Join(folder, "keys"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		for _, words := range [][]string{
			{"go", "build", "-o", program, source},
			{"ln", "-s", testenv.Images(), filepath.Join(folder, "images")},
			{program, "createvm", "--name", "template", "--register"},
			{program, "snapshot", "template", "take", "fresh"},
		} {
			if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				return "", fmt.Errorf("%q: %w: %s", words, err, said)
			}
		}
	}
	text, err := json.Marshal(map[string]string{
		"template": "template", "snapshot": "fresh", "program": program, "identity": keys.Identity(), "host_key": keys.HostKey(),
	})
	return string(text), err
}
