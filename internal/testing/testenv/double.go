package testenv

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"tare/internal/testing/gobuild"
)

// doubles are the stdin pipes of the doubles, which exit when these are closed, at the
// latest with this process.
var doubles []io.Closer

// Double builds a double of a hypervisor from its source and starts it in a directory,
// its first argument, with this machine's test images. It returns the line that the double
// prints when it is ready.
func Double(directory, source string, args ...string) (line string, err error) {
	program := filepath.Join(directory, path.Base(source))
	if err := gobuild.Build(program, source); err != nil {
		return "", err
	}
	if err := os.Symlink(Images(), filepath.Join(directory, "images")); err != nil {
		return "", err
	}
	cmd := exec.Command(program, append([]string{directory}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	doubles = append(doubles, in)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", err
	}
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		return "", fmt.Errorf("%s did not start: %w", source, err)
	}
	return strings.TrimSpace(line), nil
}
