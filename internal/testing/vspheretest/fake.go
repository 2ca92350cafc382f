// Package vspheretest starts the vCenter simulator of package fakevcenter, with
// guests, for tests. Only tests import it.
package vspheretest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tare/internal/testing/gobuild"
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
		if url, err = begin(folder); err != nil {
			return "", err
		}
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

// open are the stdin pipes of the simulators, which exit when these are closed, at the
// latest with this process.
var open []io.Closer

func begin(folder string) (url []byte, err error) {
	program := filepath.Join(folder, "vcsim")
	if err := gobuild.Build(program, source, ""); err != nil {
		return nil, err
	}
	if err := os.Symlink(testenv.Images(), filepath.Join(folder, "images")); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "password"), []byte(Password+"\n"), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, folder)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	open = append(open, in)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the simulator did not start: %w", err)
	}
	return []byte(strings.TrimSpace(line)), nil
}
