// Package vspheretest starts the vCenter simulator of package fakevcenter, with
// guests, for tests. Only tests import it.
package vspheretest

import (
	"encoding/json"
	"os"
	"path/filepath"

	"tare/internal/testing/sshguest"
	"tare/internal/testing/testenv"
)

const source = "tare/internal/testing/fakevcenter"

// Password that the simulator accepts.
const Password = "open & shut <case>"

// Fake starts a simulator in a directory, unless one is running. It has a VM named
// template with a snapshot named fresh, which contains this machine's test images.
// It exits with the process that started it. Fake returns the options of the kind
// vsphere for it.
func Fake(folder string) (options string, err error) {
	keys, err := sshguest.NewKeys(filepath.Join(folder, "keys"))
	if err != nil {
		return "", err
	}
	at := filepath.Join(folder, "url")
	url, err := os.ReadFile(at)
	if err != nil {
		if err := os.WriteFile(filepath.Join(folder, "password"), []byte(Password+"\n"), 0o600); err != nil {
			return "", err
		}
		line, err := testenv.Double(folder, source)
		if err != nil {
			return "", err
		}
		url = []byte(line)
		if err := os.WriteFile(at, url, 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]string{
		"url": string(url), "account": "tester", "password_file": filepath.Join(folder, "password"), "ca_file": filepath.Join(folder, "cert.pem"),
		"template": "template", "snapshot": "fresh", "identity": keys.Identity(), "host_key": keys.HostKey(),
	})
	return string(text), err
}
