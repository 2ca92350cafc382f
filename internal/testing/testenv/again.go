package testenv

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// Role is what a test binary does when a test starts it again: it makes something in a
// home, prints one line about it, and is killed.
type Role func(name, home string) (line string, err error)

// Environment variables with the role of a program and its arguments.
const (
	roleVariable = "TARE_TEST_ROLE"
	nameVariable = "TARE_TEST_NAME"
	homeVariable = "TARE_TEST_HOME"
)

// Main is the TestMain of a package whose tests start the test binary again. Its
// tests must leave no goroutine, except for what the options ignore.
func Main(m *testing.M, roles map[string]Role, ignored ...goleak.Option) {
	play := roles[os.Getenv(roleVariable)]
	if play == nil { // does not return
		goleak.VerifyTestMain(m, ignored...)
	}
	output, err := play(os.Getenv(nameVariable), os.Getenv(homeVariable))
	if err != nil {
		fmt.Println("error:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
	fmt.Println(output)
	io.Copy(io.Discard, os.Stdin) // until it is killed, or the test itself is gone
	os.Exit(1)
}

// Again starts the test binary again in a role and returns the fields of the line that it
// prints when it is ready. kill kills it, as the end of the test does.
func Again(t testing.TB, role, name, home string) (words []string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, nameVariable+"="+name, homeVariable+"="+home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		in.Close()
		cmd.Wait()
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if words = strings.Fields(line); err != nil || len(words) == 0 || words[0] == "error:" {
		t.Fatalf("the program in the role %s printed %q (%v)", role, line, err)
	}
	return words, kill
}

// OpenNetworkNamespaces are this process's descriptors of network namespaces.
func OpenNetworkNamespaces() (list []string) {
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "net:") {
			list = append(list, file+" "+to)
		}
	}
	return list
}
