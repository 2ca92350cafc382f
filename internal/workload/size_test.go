package workload

import (
	"strings"
	"testing"
)

func TestASizeIsReadInEverySpellingAndHandedOverInTheParametersUnit(t *testing.T) {
	bytes := Parameter{Default: "64M", Unit: "B", Min: new(16.0), Max: new(1e9)}
	kilobytes := Parameter{Default: "16M", Unit: "KiB"}
	for _, c := range []struct {
		parameter           Parameter
		value, kept, handed string
	}{
		{bytes, "64KiB", "64KiB", "65536"}, {bytes, "64 KiB", "64KiB", "65536"}, {bytes, "64kB", "64kB", "64000"}, {bytes, "64k", "64k", "65536"},
		{bytes, "4096", "4096", "4096"}, {bytes, "1.5KiB", "1.5KiB", "1536"}, {bytes, "0.5GB", "0.5GB", "500000000"},
		{kilobytes, "16M", "16M", "16384"}, {kilobytes, "64KiB", "64KiB", "64"}, {kilobytes, "64", "64", "64"}, {kilobytes, "1GiB", "1GiB", "1048576"},
		{Parameter{Default: "5", Unit: "s"}, "7", "7", "7"}, {Parameter{Default: "a", Unit: "B", Values: []string{"a", "4k"}}, "4k", "4k", "4k"},
		{Parameter{Default: "auto", Unit: "B"}, "4k", "4k", "4k"}, // a word, whatever its unit says
	} {
		kept, err := c.parameter.Normalize(c.value)
		if err != nil || kept != c.kept || c.parameter.Format(kept) != c.handed {
			t.Errorf("%q as %s: kept %q, handed over %q, %v", c.value, c.parameter.Unit, kept, c.parameter.Format(kept), err)
		}
	}
	for value, want := range map[string]string{
		"64kib": `"64kib" is not a size: write a number with B, kB, KiB`, "much": "is not a size", "10%": "is not a size", "-4k": "is not a size",
		"2GB": "2GB is out of range: 16 to 1000000000 B are allowed", "8": "out of range", "16.5": "16.5 is not a whole number of B", "64M; rm -rf /": "is not a size",
	} {
		if _, err := bytes.Normalize(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
	}
	if _, err := kilobytes.Normalize("1500B"); err == nil || !strings.Contains(err.Error(), "not a whole number of KiB") {
		t.Errorf("half a unit: %v", err)
	}
}

func TestCommandsGetSizesAsNumbersDefaultsIncluded(t *testing.T) {
	pack := Pack{Name: "p", Parameters: map[string]Parameter{"block": {Default: "4k", Unit: "B"}, "file": {Default: "1M", Unit: "KiB"}}, Driver: &Step{Run: "drive ${block} ${file}"}}
	for want, values := range map[string]map[string]string{"drive 4096 1024": nil, "drive 8000 2048": {"block": "8kB", "file": "2MiB"}} {
		if got, err := pack.With(values, InstanceVars{}); err != nil || got.Driver.Run != want {
			t.Errorf("%q, %v, want %q", got.Driver.Run, err, want)
		}
	}
}

// What a tool reads as a size by itself it reads in its own way.
func TestEveryBuiltInParameterThatIsASizeSaysSo(t *testing.T) {
	for _, name := range Names() {
		pack, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for key, p := range pack.Parameters {
			if _, is := p.size(); is || len(p.Values) > 0 || p.Unit != "" || key == "bitrate" {
				continue
			}
			if last := p.Default[max(0, len(p.Default)-1):]; strings.ContainsAny(last, "kKMG") && plainNumber.MatchString(p.Default[:len(p.Default)-1]) {
				t.Errorf("%s: %s is %s, without a unit", name, key, p.Default)
			}
		}
	}
}
