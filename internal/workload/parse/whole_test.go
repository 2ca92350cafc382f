package parse

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// keptFile is a file below testdata/kept: outputs as people keep them.
func keptFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "kept", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAPieceOfANumberIsNoNumber(t *testing.T) {
	rate := `(?P<rate>[0-9.]+) requests/s`
	for _, c := range []struct {
		pattern, text string
		want          float64 // 0: refused
	}{
		{rate, string(keptFile(t, "regex-part-of-a-number/thousands.txt")), 0},
		{rate, string(keptFile(t, "regex-part-of-a-number/exponent.txt")), 0},
		{rate, string(keptFile(t, "regex-part-of-a-number/decimal-comma.txt")), 0},
		{rate, string(keptFile(t, "regex-part-of-a-number/narrow-space.txt")), 0},
		{rate, string(keptFile(t, "regex-part-of-a-number/negative.txt")), 0},
		{rate, "1\u202f234.5 requests/s\n", 0},
		{rate, "1'234.5 requests/s\n", 0},
		{`rate: (?P<rate>[0-9.]+)`, "rate: 1.5k requests\n", 0},
		{`rate: (?P<rate>[0-9.]+)`, "rate: 12,345\n", 0},
		{`rate: (?P<rate>[0-9.]+)`, "rate: 1.2e+05\n", 0},
		{`.*(?P<rate>[0-9.]+) requests/s`, "total 345.67 requests/s\n", 0},
		{`rate: (?P<rate>[0-9]+)`, "rate: 12.5\n", 0},
		{rate, "5.5 requests/s\n", 5.5},
		{rate, "took 12 345.5 requests/s of 7\n", 0},
		{rate, "step-5.5 requests/s\n", 5.5},
		{`(?P<rate>[-0-9.e+]+) requests/s`, "1.2e+05 requests/s\n", 1.2e5},
		{`time=(?P<rate>[0-9.]+)`, "time=1.5s\n", 1.5},
		{`time=(?P<rate>[0-9.]+)`, "time=1.5, next\n", 1.5},
		{`size=(?P<rate>[0-9.]+)`, "size=10MiB\n", 10},
		{`^\d+,(?P<rate>[0-9.]+)$`, "7,25", 25},
		{`count 12 (?P<rate>[0-9.]+) requests`, "count 12 345 requests", 345},
	} {
		fields, err := Regex([]*regexp.Regexp{regexp.MustCompile(c.pattern)}, []byte(c.text))
		if got := fields["rate"]; err == nil && got != c.want || err != nil && c.want != 0 {
			t.Errorf("%s of %q is %v, %v; want %v", c.pattern, c.text, got, err, c.want)
		}
	}
}

func TestAKeyThatStandsForTwoValuesIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		string(keptFile(t, "json-key-twice/out.json")):    "twice, with 1 and with 2",
		`{"a": {"rate": 1}, "a": {"rate": 2}, "rate": 3}`: "",
		`{"rate": 3, "rate": 3, "other": 1, "other": 2}`:  "",
		`{"rate": [3], "rate": 3}`:                        "twice, with a list of 1 entries and with 3",
	} {
		fields, _, err := JSON([]string{"rate"}, []byte(text))
		if want == "" && (err != nil || fields["rate"] != 3) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", text, fields, err)
		}
	}
}
