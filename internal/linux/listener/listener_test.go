package listener

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tare/internal/testing/needs"
)

func TestListeningSocketsAreReadFromTheKernelsTables(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18446 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18447 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1F91 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 18448 1 0000000000000000 100 0 0 10 0
   3: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   4: 00000000000000000000000001000000:0051 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   5: 0000000000000000FFFF00000100007F:0052 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0
   6: 020012AC:0053 00000000:0000 0A
a line that is cut
`
	want := []Socket{{80, false, "18446"}, {8080, true, "18447"}, {80, false, "1"}, {81, true, "2"}, {82, true, "3"}}
	if got := listeningIn(table); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// The test program is also another process that holds a socket, and another user who looks
// for those of a process.
const (
	isHolder = "TARE_TEST_HOLDS"
	isUser   = "TARE_TEST_LOOKS_AT"
)

func TestMain(m *testing.M) {
	if os.Getenv(isHolder) != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if pid, err := strconv.Atoi(os.Getenv(isUser)); err == nil {
		fmt.Print(ports(HeldBy([]int{pid}, All(os.ReadFile))))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func ports(sockets []Socket) (list []int) {
	for _, s := range sockets {
		list = append(list, s.Port)
	}
	return list
}

func listen(t *testing.T) (l *net.TCPListener, port int) {
	t.Helper()
	made, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close() })
	return made.(*net.TCPListener), made.Addr().(*net.TCPAddr).Port
}

// again is the test program as another process, of a user if one is given.
func again(variable string, user *syscall.Credential) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe") // which every user may execute
	cmd.Env = append(os.Environ(), variable)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	return cmd
}

// another is a process that alone holds a socket, with its port.
func another(t *testing.T, user *syscall.Credential) (pid, port int) {
	t.Helper()
	l, port := listen(t)
	socket, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	cmd := again(isHolder+"=1", user)
	cmd.ExtraFiles = []*os.File{socket}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	socket.Close()
	l.Close()
	return cmd.Process.Pid, port
}

func TestASocketBelongsToTheProcessThatHoldsIt(t *testing.T) {
	_, own := listen(t)
	other, its := another(t, nil)
	all := All(os.ReadFile)
	if got := ports(all); !slices.Contains(got, own) || !slices.Contains(got, its) {
		t.Fatalf("of %d and %d, %v listen", own, its, got)
	}
	if got := ports(HeldBy([]int{os.Getpid()}, all)); !slices.Contains(got, own) || slices.Contains(got, its) {
		t.Errorf("this process listens at %d, and not at %v", own, got)
	}
	if got := ports(HeldBy([]int{other}, all)); !slices.Equal(got, []int{its}) {
		t.Errorf("the other process listens at %d, and not at %v", its, got)
	}
}

func TestASocketOfAProcessThatIsSeenIsNotOfOneThatIsHidden(t *testing.T) {
	needs.Root(t)
	_, own := listen(t)
	user := &syscall.Credential{Uid: 65534, Gid: 65534}
	_, its := another(t, user)
	look := again(fmt.Sprintf("%s=%d", isUser, os.Getpid()), user)
	out, err := look.Output()
	if got := string(out); err != nil || !strings.Contains(got, fmt.Sprint(own)) || strings.Contains(got, fmt.Sprint(its)) {
		t.Errorf("the user who does not see that %d listens at %d, but that another process does at %d, says %s (%v)", os.Getpid(), own, its, got, err)
	}
}
