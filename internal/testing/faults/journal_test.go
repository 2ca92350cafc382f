package faults

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The journal of a killed run is damaged: tare says so, refuses what it cannot trust, and
// makes lost trials again.
func TestADamagedJournal(t *testing.T) {
	r := Begin(t, studyOf(t, []string{"oci: {}"}, "use: %s/work.yaml", "{order: alternating, rounds: 4, blocks: 2, fresh: block}"))
	r.Strike(Fault{
		Name: "kill -9 of tare, before its journal is damaged", Status: Killed,
		When:   func(s *Session) { s.Until(`"tried"`); s.Until(`"tried"`) },
		Inject: func(s *Session) func() { s.Cmd.Process.Kill(); return nil },
	})
	path := filepath.Join(r.Directory, "journal.jsonl")
	whole := r.journal()
	second := bytes.IndexByte(whole, '\n') + 1
	value := bytes.Index(whole, []byte(`"value":`)) + len(`"value":`)
	for _, damage := range []struct {
		name, report, resume string
		is                   []byte
	}{
		{"a flipped bit in the journal", "line 1 of .* is not as tare wrote it", "line 1 of .* is not as tare wrote it: restore the file, or cut it before that line", flip(whole, value+3)},
		{"a flipped bit in the journal's JSON", "line 1 is not a trial", "line 1 is not a trial", flip(whole, 1)},
		{"another version's line in the journal", "line 1 is not a trial: its status is", "line 1 is not a trial: its status is", bytes.Replace(whole, []byte(`"status":"ok"`), []byte(`"status":"xx"`), 1)},
		{"a torn line in the journal", "the last line of .* is cut off", "", whole[:len(whole)-20]},
		{"a cut half of the journal", "1 of the 2 trials of .* are missing", "", whole[:second]},
	} {
		if err := os.WriteFile(path, damage.is, 0o644); err != nil {
			t.Fatal(err)
		}
		r.says(damage.name, damage.report, "report", r.Directory)
		rowOf(damage.name).times++
		if damage.resume == "" {
			continue
		}
		if status := r.says(damage.name, damage.resume, "run", "--resume", r.Directory); status == 0 {
			t.Errorf("%s: the run goes on", damage.name)
		}
		if is, _ := os.ReadFile(path); !bytes.Equal(is, damage.is) {
			t.Errorf("%s: the journal was changed", damage.name)
		}
	}
	// Half of it is lost now, and a piece is torn off the other half.
	torn := whole[:second-20]
	if err := os.WriteFile(path, torn, 0o644); err != nil {
		t.Fatal(err)
	}
	r.kept = nil
	r.Strike(Fault{Name: "a cut half of the journal, with a torn line", Says: "2 of the 2 trials of .* are missing", When: now, Inject: nothing})
	if aside, err := os.ReadFile(path + ".torn"); err != nil || strings.TrimSuffix(string(aside), "\n") != string(torn) {
		t.Errorf("put aside: %q, %v", aside, err)
	}
	r.Finish()
}

// flip flips a bit.
func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 1
	return data
}

// says fails where a command does not say what a regular expression matches.
func (r *Run) says(name, want string, args ...string) int {
	r.t.Helper()
	p := r.Home.Tare(r.t, args...)
	status := p.end()
	if !regexp.MustCompile(want).MatchString(p.output()) {
		r.t.Errorf("%s: tare %q: status %d: nothing says %q: %s", name, args, status, want, p.output())
	}
	return status
}
