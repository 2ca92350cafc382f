package published

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestEveryStudyIsShownIn80Columns(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s, err := Builtin(name)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Text(&out, s.Recompute(), 80, false); err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(out.String(), "\n") {
				if ansi.StringWidth(line) > 80 {
					t.Errorf("%d columns: %s", ansi.StringWidth(line), line)
				}
			}
			if name != "karna-2021" {
				return // one golden file shows every part
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if out.String() != string(want) {
				t.Errorf("differs from %s; see what changed with -update and a diff\n%s", golden, out.String())
			}
		})
	}
}
