package userns_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/linux/userns"
	"tare/internal/testing/needs"
)

// user is an ordinary one of this machine, as which the test binary is started again.
const user = 64124

// TestMain plays the ordinary user.
func TestMain(m *testing.M) {
	if fifo := os.Getenv("TARE_TEST_HOLDS"); fifo != "" {
		fmt.Println(holds(fifo))
		os.Exit(1)
	}
	if directory := os.Getenv("TARE_TEST_USERNS"); directory != "" {
		if err := asUser(directory); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// holds runs a command until this process is killed.
func holds(fifo string) error {
	_, err := userns.Run(exec.Command("sh", "-c", `echo $$ >"$1"; exec sleep 600`, "sh", fifo), userns.Own())
	return fmt.Errorf("it ended: %w", err)
}

// dies kills a process that runs a command, and waits for the end of the command.
func dies(directory string) error {
	fifo := filepath.Join(directory, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return err
	}
	parent := exec.Command("/proc/self/exe")
	parent.Env = append(os.Environ(), "TARE_TEST_HOLDS="+fifo)
	if err := parent.Start(); err != nil {
		return err
	}
	line, err := os.ReadFile(fifo)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20000); n != 1 {
		return fmt.Errorf("process %d did not end with the one that started it: %w", pid, err)
	}
	return nil
}

// asUser mounts and changes owners as root of a namespace, and removes what is left.
func asUser(directory string) error {
	ids := userns.Own()
	if os.Getenv("TARE_TEST_ALONE") == "" && ids.Alone != "" {
		return fmt.Errorf("there are no other users: %s", ids.Alone)
	}
	if err := userns.Check(ids); err != nil {
		return err
	}
	script := `set -e; cd "$1"; id -u; mkdir kept; touch kept/file`
	if ids.Alone == "" {
		script += `; chown -R 33:33 kept; chmod 700 kept; stat -c %u kept`
	} else {
		script += `; ! chown 33 kept 2>/dev/null; echo refused; chmod 0 kept`
	}
	out, err := userns.Run(exec.Command("sh", "-c", script, "sh", directory), ids)
	if want := map[bool]string{true: "0\n33\n", false: "0\nrefused\n"}[ids.Alone == ""]; err != nil || out != want {
		return fmt.Errorf("it printed %q, %w", out, err)
	}
	kept := filepath.Join(directory, "kept")
	if _, err := os.ReadDir(kept); err == nil {
		return fmt.Errorf("%s can be read: nothing was tried", kept)
	}
	if err := userns.RemoveAll(kept); err != nil {
		return err
	}
	if _, err := os.Lstat(kept); !os.IsNotExist(err) {
		return fmt.Errorf("it is still there: %w", err)
	}
	if err := dies(directory); err != nil {
		return err
	}
	if _, err := userns.Run(exec.Command("sh", "-c", "echo why >&2; exit 3"), ids); err == nil || !strings.Contains(err.Error(), "exit status 3: why") {
		return fmt.Errorf("a command that fails: %w", err)
	}
	return nil
}

func TestAnOrdinaryUserIsRootOfANamespace(t *testing.T) {
	needs.Root(t) // to become another user
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string]string{"alone": "", "with others": fmt.Sprintf("%d:800000:65536\n", user)} {
		t.Run(name, func(t *testing.T) {
			// Not t.TempDir, above which others may not pass.
			directory, err := os.MkdirTemp("/var/tmp", "tare-userns-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(directory) })
			binary, ranges, names := filepath.Join(directory, "userns.test"), filepath.Join(directory, "subids"), filepath.Join(directory, "passwd")
			passwd := fmt.Sprintf("somebody:x:%d:%d::/:/bin/sh\n", user, user)
			for file, content := range map[string][]byte{binary: program, ranges: []byte(lines), names: []byte(passwd)} {
				if err := os.WriteFile(file, content, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(directory, user, user); err != nil {
				t.Fatal(err)
			}
			// In a mount namespace in which these files have nobody else.
			cmd := exec.Command("unshare", "--mount", "sh", "-c", `set -e
				for f in /etc/subuid /etc/subgid; do mount --bind "$1" $f; done
				mount --bind "$2" /etc/passwd
				exec setpriv --reuid "$3" --regid "$3" --clear-groups "$4"`, "sh", ranges, names, fmt.Sprint(user), binary)
			cmd.Env = append(os.Environ(), "TARE_TEST_USERNS="+directory)
			if lines == "" {
				cmd.Env = append(cmd.Env, "TARE_TEST_ALONE=1")
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
			if left, _ := fs.Glob(os.DirFS(directory), "kept*"); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}
