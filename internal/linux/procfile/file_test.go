package procfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"tare/internal/testing/needs"
)

func TestAFileIsReadAsItIsNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, buffer := At(path), []byte(nil)
	defer f.Close()
	rapid.Check(t, func(t *rapid.T) {
		want := strings.Repeat("0123456789abcde\n", rapid.IntRange(0, 3000).Draw(t, "lines"))
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Read(&buffer); err != nil || string(got) != want {
			t.Fatalf("%d bytes read, %d written: %v", len(got), len(want), err)
		}
	})
}

func TestAFileThatIsNotThereIsAnError(t *testing.T) {
	f, buffer := At("/nowhere/at/all"), []byte(nil)
	for range 2 {
		if _, err := f.Read(&buffer); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
}

func TestAFileOfAProcessStaysWithTheProcess(t *testing.T) {
	buffer := []byte(nil)
	cmd, err := os.StartProcess("/bin/sleep", []string{"sleep", "100"}, &os.ProcAttr{})
	needs.Working(t, "/bin/sleep", err)
	f := At(fmt.Sprintf("/proc/%d/stat", cmd.Pid))
	defer f.Close()
	text, err := f.Read(&buffer)
	if err != nil || !strings.Contains(string(text), "(sleep)") {
		t.Errorf("%q, %v", text, err)
	}
	cmd.Kill()
	cmd.Wait()
	if _, err := f.Read(&buffer); !errors.Is(err, unix.ESRCH) {
		t.Errorf("after the end: %v", err)
	}
}

func TestWordsAndNumbersAreFound(t *testing.T) {
	got := ""
	for word, n := range Pairs([]byte("anon 12\nno number\nVmRSS:\t  -7 kB\n\nlast 3")) {
		got += fmt.Sprintf("%s=%d ", word, n)
	}
	if got != "anon=12 VmRSS=-7 last=3 " {
		t.Error(got)
	}
	text := []byte(" a  bc\n")
	first, rest := Word(text)
	second, rest := Word(rest)
	if third, _ := Word(rest); string(first) != "a" || string(second) != "bc" || len(third) > 0 {
		t.Errorf("%q %q %q", first, second, third)
	}
}

func TestReadingAgainAllocatesNothing(t *testing.T) {
	f, buffer, sum := At("/proc/self/status"), []byte(nil), int64(0)
	defer f.Close()
	if n := testing.AllocsPerRun(100, func() {
		text, _ := f.Read(&buffer)
		for word, n := range Pairs(text) {
			if string(word) == "VmRSS" {
				sum += n
			}
		}
	}); n > 0 || sum == 0 {
		t.Errorf("%v allocations a reading", n)
	}
}
