package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheSummaryCountsAndExplains(t *testing.T) {
	allowed := filepath.Join(t.TempDir(), "allowed")
	if err := os.WriteFile(allowed, []byte("# a comment\n\n^needs a tape\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const skipped = `{"Action":"output","Package":"p","Test":"TestTape","Output":"    x_test.go:1: before\n"}
{"Action":"output","Package":"p","Test":"TestTape","Output":"    x_test.go:7: needs a tape: there is none\n"}
{"Action":"skip","Package":"p","Test":"TestTape"}
`
	for name, c := range map[string]struct {
		in      string
		strict  bool
		brief   bool
		slowest int
		ok      bool
		want    []string // in this order
	}{
		"passed": {
			in: `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, ok: true, want: []string{"ok", "p", "1 passed\n", "\n1 passed, 0 failed, 0 skipped\n"},
		},
		"a parent is not counted beside its subtests": {
			in: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA/b"}
{"Action":"output","Package":"p","Test":"TestA/c","Output":"    c_test.go:7: c broke\n"}
{"Action":"fail","Package":"p","Test":"TestA/c"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`, want: []string{"FAILED  p TestA/c\n        c_test.go:7: c broke\n", "\nfailed:\n         p TestA/c: c broke\n", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		"an allowed skip": {
			in: skipped + `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, strict: true, ok: true, want: []string{"    1  needs a tape: there is none\n", "p TestTape\n", "\n1 passed, 0 failed, 1 skipped\n"},
		},
		"a skip that is not allowed": {
			in: strings.ReplaceAll(skipped, "tape", "drum") + `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, strict: true, want: []string{"needs a drum: there is none   <- not allowed", "\n1 passed, 0 failed, 1 skipped\n"},
		},
		"the same where nobody is strict": {
			in: strings.ReplaceAll(skipped, "tape", "drum") + `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, ok: true, want: []string{"needs a drum: there is none\n"},
		},
		"a package that does not compile": {
			in: `{"Action":"build-output","Output":"x.go:3: undefined: y\n"}
{"Action":"output","Package":"p","Output":"FAIL p [build failed]\n"}
{"Action":"fail","Package":"p"}
`, want: []string{"undefined: y\n", "FAILED  p\n", "[build failed]", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		"a test that was running when its program died": {
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: oh\n"}
{"Action":"fail","Package":"p"}
`, want: []string{"p TestA (did not end)\n    panic: oh\n", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		"a stream that breaks off": {
			in:   `{"Action":"start","Package":"p"}` + "\nnot an event\n",
			want: []string{"not an event\n", "FAILED  p\n", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		"a package starts, and its tests take their time": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Test":"TestB/c","Elapsed":7.5}
{"Action":"pass","Package":"p","Test":"TestB","Elapsed":9}
{"Action":"pass","Package":"p","Elapsed":10.2}
`, slowest: 1, ok: true, want: []string{"start   p\n", "ok      p", "10.2 s  2 passed\n", "the 1 slowest tests:\n    7.5 s  p TestB/c\n\n2 passed"},
		},
		"a test that passes when it runs again": {
			in: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA/b","Output":"    b_test.go:7: b was slow\n"}
{"Action":"fail","Package":"p","Test":"TestA/b"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"run","Package":"p (again)","Test":"TestA"}
{"Action":"pass","Package":"p (again)","Test":"TestA/b"}
{"Action":"pass","Package":"p (again)","Test":"TestA"}
{"Action":"pass","Package":"p (again)","Elapsed":2}
`, ok: true, want: []string{"FAILED  p TestA/b\n", "ok      p (again)", "\nfailed, and passed when they ran again alone:\n         p TestA/b: b was slow\n", "\n1 passed, 0 failed, 0 skipped\n"},
		},
		"a test that fails again": {
			in: `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
{"Action":"fail","Package":"p (again)","Test":"TestB"}
{"Action":"fail","Package":"p (again)"}
`, want: []string{"FAILED  p TestB\n", "FAILED  p (again) TestB\n", "FAILED  p (again)", "\nfailed:\n         p TestB\n", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		"a test that is skipped when it runs again": {
			in: `{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
{"Action":"skip","Package":"p (again)","Test":"TestB"}
{"Action":"pass","Package":"p (again)"}
`, want: []string{"\nfailed:\n         p TestB\n", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		"a test that passes again in a program that then fails": {
			in: `{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"p (again)","Test":"TestB"}
{"Action":"fail","Package":"p (again)"}
`, want: []string{"\nfailed:\n         p TestB\n", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		"in brief": {
			in: `{"Action":"start","Package":"p"}
` + skipped + `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, brief: true, ok: true, want: []string{"\nok      p", "    1  needs a tape: there is none\n", "1 passed, 0 failed, 1 skipped\n"},
		},
		"a script that prints its log after the reason": {
			in: `{"Action":"output","Package":"p","Test":"TestTape","Output":"    testscript.go:7: needs a tape: there is none\n"}
{"Action":"output","Package":"p","Test":"TestTape","Output":"    testscript.go:9: WORK=$WORK\n"}
{"Action":"skip","Package":"p","Test":"TestTape"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, strict: true, ok: true, want: []string{"    1  needs a tape: there is none\n"},
		},
		"no tests at all": {
			in: `{"Action":"skip","Package":"p"}` + "\n", want: []string{"\n0 passed, 0 failed, 0 skipped\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			ok, err := run(strings.NewReader(c.in), &out, 0, options{allowed: allowed, strict: c.strict, brief: c.brief, slowest: c.slowest})
			if err != nil {
				t.Fatal(err)
			}
			if ok != c.ok {
				t.Errorf("ok is %v", ok)
			}
			rest := "\n" + out.String()
			for _, want := range c.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%q is missing, or not in its place, in\n%s", want, out.String())
				}
				rest = "\n" + after // a line's end also begins the next one
			}
		})
	}
}

func TestProgressSaysWhatIsUnderWay(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, 40)
	c := newCount(p)
	for _, line := range []string{
		`{"Action":"start","Package":"p"}`,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"run","Package":"p","Test":"TestWithALongNameThatDoesNotFit"}`,
	} {
		c.line(line)
	}
	p.show(c.underWay(c.packages["p"].since.Add(3 * time.Second)))
	if got, want := out.String(), "p 3 s, 1 passed, now TestWithALongName…"; got != want {
		t.Errorf("on a terminal of 40 columns: %q, not %q", got, want)
	}
	c.line(`{"Action":"fail","Package":"p"}`)
	if !strings.Contains(out.String(), "…\r\x1b[K\nFAILED") {
		t.Errorf("what stays does not replace what passes: %q", out.String())
	}
	out.Reset()
	newProgress(&out, 0).show([]string{"p 60 s, 1 passed"})
	if got, want := out.String(), "...     p 60 s, 1 passed\n"; got != want {
		t.Errorf("in a log: %q, not %q", got, want)
	}
}
