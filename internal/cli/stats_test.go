package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/verdict"
)

var updateStats = flag.Bool("update-stats", false, "write the golden files of tare stats anew")

// runStats runs the command; stdin may be nil.
func runStats(stdin io.Reader, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := newStatsCommand(&App{Stdin: stdin, Stdout: &out, Stderr: io.Discard})
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	err := cmd.Execute()
	return out.String(), err
}

func TestStatsPrintsTheGoldenTables(t *testing.T) {
	for name, args := range map[string][]string{
		"study.txt":    {"study.csv", "--baseline", "native"},
		"study.json":   {"study.csv", "--baseline", "native", "--json"},
		"higher.txt":   {"plain.csv", "--baseline", "native", "--better", "higher", "--margin", "5%"},
		"fixed.txt":    {"plain.csv", "--baseline", "native", "--blocks-fixed"},
		"few.txt":      {"few.csv", "--baseline", "native"},
		"unpaired.txt": {"unpaired.csv", "--baseline", "native"},
		"rounds.txt":   {"rounds.csv", "--baseline", "native"},
		"zeros.txt":    {"zeros.csv", "--baseline", "native"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join("testdata", "stats"))
			got, err := runStats(nil, args...)
			if err != nil {
				t.Fatal(err)
			}
			if *updateStats {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			for _, line := range strings.Split(got, "\n") {
				if strings.HasSuffix(name, ".txt") && len([]rune(line)) > 80 {
					t.Errorf("%d columns: %s", len([]rune(line)), line)
				}
			}
		})
	}
}

func TestStatsReportsErrorsWithTheirPosition(t *testing.T) {
	const head = "block,environment,value\n"
	for name, c := range map[string]struct {
		input string
		args  []string
		want  string
	}{
		"no number":           {head + "1,native,2\n1,docker,fast\n", nil, `standard input:3:10: "fast" is not a number`},
		"infinite":            {head + "1,native,inf\n", nil, `standard input:2:10: "inf" is not a number`},
		"too few fields":      {head + "1,native\n", nil, `standard input:2:1: the row has more or fewer fields than the header`},
		"quotes":              {head + "1,\"nat\"ive,3\n", nil, `standard input:2:`},
		"no environment":      {head + "1,,3\n", nil, `standard input:2:3: the environment is empty`},
		"no block":            {head + ",native,3\n", nil, `standard input:2:1: the block is empty`},
		"no value column":     {"block,environment,time\n", nil, `standard input:1: there is no column value: the first line must name environment and value, best with block, and may name workload, metric, level and round; it names "block, environment, time"`},
		"column twice":        {"value,environment,value\n", nil, `standard input:1: duplicate column value`},
		"empty":               {"", nil, `standard input is empty`},
		"no round":            {"block,round,environment,value\n1,,native,3\n", nil, `standard input:2:3: the round is empty`},
		"round without block": {"round,environment,value\n", nil, `standard input:1: there is a column round and no column block`},
		"round twice":         {"block,round,environment,value\n1,1,native,3\n1,1,docker,3\n1,1,native,4\n", nil, `standard input:4:12: a second value of native in round 1 of block 1`},
		"no rows":             {head, nil, `standard input has a header and no rows`},
		"unknown baseline":    {head + "1,bare,2\n1,docker,3\n", nil, `standard input has no environment "native" to compare with: it has bare, docker`},
		"nothing to compare":  {head + "1,native,2\n", nil, `standard input has only the baseline "native"`},
		"margin":              {head, []string{"--margin", "two"}, `--margin: "two" is not a share`},
		"margin of nothing":   {head, []string{"--margin", "0"}, `--margin: 0% is not between`},
		"direction":           {head, []string{"--better", "faster"}, `--better: "faster" is neither lower nor higher`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runStats(strings.NewReader(c.input), append([]string{"-", "--baseline", "native"}, c.args...)...)
			var exit *ExitError
			if !errors.As(err, &exit) || exit.Status != ExitBadInput || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
	if _, err := runStats(nil, "absent.csv", "--baseline", "native"); err == nil || !strings.Contains(err.Error(), "absent.csv") {
		t.Error(err)
	}
}

func TestStatsReadsBlocksInTheirOrder(t *testing.T) {
	// The first eight blocks by number are slower by a half; the rows that come
	// first in the file are not.
	var rows strings.Builder
	rows.WriteString("\ufeffvalue, Environment ,block\n")
	for block := 20; block >= 1; block-- {
		docker := 1.0
		if block <= 8 {
			docker = 1.5
		}
		fmt.Fprintf(&rows, "1,native,%d\n%g,docker,%d\n", block, docker, block)
	}
	got, err := runStats(strings.NewReader(rows.String()), "-", "--baseline", "native", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var report statsReport
	if err := json.Unmarshal([]byte(got), &report); err != nil {
		t.Fatal(err)
	}
	if c := report.Contrasts[0]; c.Look != 6 || c.Verdict != verdict.Slower || c.N != 20 {
		t.Errorf("%+v", c)
	}
}

func TestStatsOfManyRowsIsQuick(t *testing.T) {
	for _, args := range [][]string{nil, {"--blocks-fixed"}} {
		got, err := runStats(bytes.NewReader(manyRows(12000)), append([]string{"-", "--baseline", "native"}, args...)...)
		if err != nil || !strings.Contains(got, "slower") {
			t.Errorf("%v: %v\n%s", args, err, got)
		}
	}
}

func manyRows(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var rows bytes.Buffer
	rows.WriteString("block,environment,value\n")
	for i := range n / 2 {
		fmt.Fprintf(&rows, "%d,native,%g\n%d,docker,%g\n", i, math.Exp(rng.NormFloat64()/50), i, 1.05*math.Exp(rng.NormFloat64()/50))
	}
	return rows.Bytes()
}

func BenchmarkStatsOfTwelveThousandRows(b *testing.B) {
	rows := manyRows(12000)
	for name, args := range map[string][]string{"sequential": nil, "fixed": {"--blocks-fixed"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := runStats(bytes.NewReader(rows), append([]string{"-", "--baseline", "native"}, args...)...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
