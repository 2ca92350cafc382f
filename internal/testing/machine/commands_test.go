package machine

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/testing/needs"
)

// The images of the study quick are on the disk, and a file of them.
const quickImage = home + "/quick.tar"

func TestTheQuickStudyRunsToItsEnd(t *testing.T) {
	needsMachine(t)
	needs.LongForm(t, "a study of eight workloads")
	directory := filepath.Join(t.TempDir(), "run")
	t.Log(tare(t, "run", "quick", "--out", directory))
	nothingLeft(t)
	if _, err := os.Stat(filepath.Join(directory, "report.html")); err != nil {
		t.Error(err)
	}
	t.Log(tare(t, "report", directory, "--format", "text"))
}

func TestAServerIsTriedToTheEnd(t *testing.T) {
	needsMachine(t)
	needs.LongForm(t, "a server's load in three environments")
	t.Log(tare(t, "try", "tar:"+quickImage, "--load", "redis", "--env", "native,docker,gvisor", "--budget", "4m", "--", "redis-server", "--protected-mode", "no"))
	nothingLeft(t)
}

func TestTheOverheadOfAContainerIsExplained(t *testing.T) {
	needsMachine(t)
	needs.LongForm(t, "a ladder of environments")
	t.Log(tare(t, "explain", "redis", "--to", "docker", "--blocks", "3"))
	nothingLeft(t)
}

func TestRunsAreServed(t *testing.T) {
	needsMachine(t)
	needs.LongForm(t, "a run of two environments")
	directory := filepath.Join(t.TempDir(), "run")
	tare(t, "bench", "--env", "native,docker", "--runs", "2", "--out", directory, "--", "true")
	c := exec.CommandContext(t.Context(), "tare", "serve", directory, "--listen", "127.0.0.1:0")
	said, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		_, address, found := strings.Cut(lines.Text(), "http://")
		if !found {
			continue
		}
		answer, err := http.Get("http://" + strings.Fields(address)[0])
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "docker") {
			t.Errorf("%s, %v: %s", answer.Status, err, page)
		}
		break
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// A unit is stopped with SIGTERM to all its processes.
func TestAUnitThatMeasuresIsStoppedInOrderAndResumed(t *testing.T) {
	needsMachine(t)
	needs.LongForm(t, "a unit that measures")
	directory := filepath.Join(t.TempDir(), "run")
	output(t, exec.Command("systemd-run", "--quiet", "--unit=tare-bench", "-p", "TimeoutStopSec=120",
		"tare", "bench", "--env", "native,docker,qemu", "--runs", "8", "--out", directory, "--", "sleep", "1"))
	journal := filepath.Join(directory, "journal.jsonl")
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		if data, err := os.ReadFile(journal); err == nil && strings.Count(string(data), "\n") >= 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(output(t, exec.Command("journalctl", "--no-pager", "-u", "tare-bench")))
		}
	}
	output(t, exec.Command("systemctl", "stop", "tare-bench"))
	t.Log(output(t, exec.Command("journalctl", "--no-pager", "--output=cat", "-u", "tare-bench")))
	nothingLeft(t)
	tare(t, "run", "--resume", directory)
	nothingLeft(t)
}
