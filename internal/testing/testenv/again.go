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
)

// Role is what a test's program does when a test starts it again: it makes
// something in a home, says in one line what that is, and is killed.
type Role func(name, home string) (said string, err error)

// The variables that tell a program which role it plays, and of what and where.
const (
	roleVariable = "TARE_TEST_ROLE"
	nameVariable = "TARE_TEST_NAME"
	homeVariable = "TARE_TEST_HOME"
)

// Main is the TestMain of a package whose tests start their own program again.
func Main(m *testing.M, roles map[string]Role) {
	play := roles[os.Getenv(roleVariable)]
	if play == nil {
		os.Exit(m.Run())
	}
	said, err := play(os.Getenv(nameVariable), os.Getenv(homeVariable))
	if err != nil {
		fmt.Println("error:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
	fmt.Println(said)
	io.Copy(io.Discard, os.Stdin) // until it is killed, or the test itself is gone
	os.Exit(1)
}

// Again starts the test's program again in a role and returns the words that it
// says when it is ready. kill ends it without a warning; the test's end does so
// too.
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
		t.Fatalf("the program in the role %s said %q (%v)", role, line, err)
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
