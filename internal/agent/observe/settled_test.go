package observe

import (
	"os/exec"
	"testing"
)

func TestAProcessThatIsJustBeingReplacedHasACommandLine(t *testing.T) {
	for range 200 {
		c := exec.Command("/bin/sh", "-c", "exec sleep 60")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		a := &Answer{Processes: map[string]Process{}, Absent: map[string]string{}}
		a.process("it", c.Process.Pid)
		if a.Processes["it"].Texts["cmdline"] == "" {
			t.Error("there is none: ", a.Absent)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}
