package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const small = `workload: small
title: A small one
stresses: cpu
image: {packages: [gawk]}
parameters:
  n: {default: 1000, min: 1, max: 5000, unit: op}
  word: {default: plain}
  mode: {default: fast, values: [fast, slow]}
setup: [{run: "echo $${HOME} > /data/x"}]
servers: [{argv: [serve, "${word}"], role: server, ready: {tcp: "${address.server}:${n}", timeout: 30s}}]
driver: {run: "drive -n ${n} --${mode}", env: ["W=${word}"], role: driver, timeout: 1m}
parser: {regex: ['^rate (?P<rate>\S+)$', '^(?P<count>\d+) done$']}
metrics:
  - {name: rate, unit: op/s, better: higher, primary: true}
  - {name: total, field: count, unit: op, better: higher}
operations: total
`

func TestParametersReachEveryCommand(t *testing.T) {
	p, err := Decode("small.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	with, err := p.With(map[string]string{"n": "7", "mode": "slow"}, InstanceVars{})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{with.Setup[0].Run, with.Servers[0].Argv[1], with.Servers[0].Ready.TCP, with.Driver.Run, with.Driver.Env[0]}
	if d := cmp.Diff([]string{"echo ${HOME} > /data/x", "plain", "127.0.0.1:7", "drive -n 7 --slow", "W=plain"}, got); d != "" {
		t.Error(d)
	}
	if p.Driver.Run != "drive -n ${n} --${mode}" || p.Servers[0].Argv[1] != "${word}" {
		t.Error("the pack itself was changed")
	}
	for name, value := range map[string]string{"n": "0", "mode": "turbo", "word": "a b", "m": "1"} {
		if _, err := p.With(map[string]string{name: value}, InstanceVars{}); err == nil {
			t.Errorf("%s = %q was let in", name, value)
		}
	}
}

func TestValuesWithShellCharactersAreRejected(t *testing.T) {
	parameters := []Parameter{{Default: "plain"}, {Default: "5"}, {Default: "0.5"}, {Default: "a", Values: []string{"a", "b-c"}}, {Default: "4k", Unit: "B"}}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(parameters).Draw(t, "parameter")
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-a-zB0-9 $;&|<>(){}'"*?~#!\\`+"`"+`\n]{0,6}`)).Draw(t, "value")
		kept, err := p.Normalize(value)
		if value := kept; err == nil && (value == "" || strings.ContainsAny(value, " \t\n$;&|<>(){}[]'\"`*?~#!\\^")) {
			t.Fatalf("%q was let in for %+v", value, p)
		}
	})
}

func TestMetricsComeFromWhatWasPrinted(t *testing.T) {
	p, err := Decode("small.yaml", []byte(strings.NewReplacer("^rate", "(?m)^rate", "^(?P<count>\\d+)", "(?m)^(?P<count>\\d+)?").Replace(small)))
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Parse([]byte("rate 2.5e3\n12 done\n"))
	if err != nil || o.Metrics["rate"] != 2500 || o.Metrics["total"] != 12 || len(o.Missing) != 0 {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = p.Parse([]byte("rate 3\n done\n"))
	if _, there := o.Metrics["total"]; err != nil || there || o.Missing["total"] == "" {
		t.Errorf("what was not printed came out as %+v, %v", o, err)
	}
	if _, err = p.Parse([]byte("rate fast\n12 done\n")); err == nil || !strings.Contains(err.Error(), `"rate fast"`) {
		t.Errorf("a word for a number gave %v", err)
	}
	for _, text := range []string{"1e308", "-1e151", "1e-308"} {
		if _, err = p.Parse([]byte("rate " + text + "\n12 done\n")); err == nil || !strings.Contains(err.Error(), "which is out of range") {
			t.Errorf("a rate of %s: %v", text, err)
		}
	}
	if _, err = p.Parse([]byte("12 done\n")); err == nil || !strings.Contains(err.Error(), `the last line is "12 done"`) {
		t.Errorf("a missing line gave %v", err)
	}
}

func TestAllErrorsInAPackAreReported(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"title:", "titel:"}:                                                    `small.yaml:2:1: unknown key "titel"; did you mean "title"?`,
		{"stresses: cpu", "stresses: cpus"}:                                     `small.yaml:3:11: unknown stresses "cpus"; did you mean "cpu"?`,
		{"${mode}", "${mod}"}:                                                   `unknown parameter "mod"; did you mean "mode"?`,
		{"better: higher, p", "better: more, p"}:                                `unknown better "more"`,
		{"name: total", "name: rate"}:                                           `metric "rate" is defined twice`,
		{"field: count", "field: cuont"}:                                        `unknown field of the parser "cuont"; did you mean "count"?`,
		{"primary: true", "primary: false"}:                                     "none is primary",
		{"operations: total", "operations: totl"}:                               `unknown metric "totl"; did you mean "total"?`,
		{"default: 1000", "default: 9000"}:                                      "9000 is out of range: 1 to 5000 op are allowed",
		{"default: fast", "default: quick"}:                                     `unknown value "quick"`,
		{"timeout: 30s", "timeout: 30 seconds"}:                                 "is not a duration",
		{"timeout: 30s", "http: \"http://x/\""}:                                 "exactly one of tcp, http, unix and exec, has 2",
		{"parser: {regex", "parser: {json: true, regex"}:                        "exactly one of name, regex, json and csv, has 2",
		{"(?P<count>", "(?P<rate>"}:                                             `group "rate" is defined twice`,
		{"  n: {", "  use: {default: 1}\n  n: {"}:                               `a parameter cannot be named "use"`,
		{"driver: {run", "driver: {argv: [x], run"}:                             "exactly one of run (a shell command line), argv (a list) and entrypoint",
		{"workload: small", "workload: Small One"}:                              "is not a valid name",
		{"name: total,", "name: cpu_per_kop,"}:                                  "tare adds a metric",
		{"parser:", "closed_loop: true\nopen_loop: {}\nparser:"}:                "closed_loop: does not go with open_loop",
		{"parser:", "touches: [{path: data}]\nparser:"}:                         `path: "data" does not begin with a slash`,
		{"parser:", "touches: [{path: /data, role: drivr}]\nparser:"}:           `unknown role "drivr"`,
		{"parser:", "configuration: [{path: /etc/a}, {path: /etc/a}]\nparser:"}: "/etc/a is listed twice",
		{"parser:", "configuration: [{path: \"${mdoe}\"}]\nparser:"}:            `unknown parameter "mdoe"; did you mean "mode"?`,
		{"parser:", "touches: [{paths: /data}]\nparser:"}:                       `unknown key "paths"; did you mean "path"?`,
	} {
		text := strings.Replace(small, change[0], change[1], 1)
		if text == small {
			t.Fatalf("%q is not in the pack", change[0])
		}
		if _, err := Decode("small.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %q in it", change[1], err, want)
		}
	}
	if _, err := Decode("p.yaml", []byte(strings.Replace(small, "regex: ['^rate (?P<rate>\\S+)$', '^(?P<count>\\d+) done$']", "name: fios", 1))); err == nil || !strings.Contains(err.Error(), `unknown parser "fios"; did you mean "fio"?`) {
		t.Errorf("an unknown parser gave %v", err)
	}
}

func TestAParameterThatIsNoPathIsNotTouched(t *testing.T) {
	p, err := Builtin("nginx")
	if err != nil {
		t.Fatal(err)
	}
	for log, want := range map[string]int{"off": 1, "/data/nginx/access.log": 2, "/dev/stdout": 2} {
		with, err := p.With(map[string]string{"access_log": log}, InstanceVars{})
		if err != nil {
			t.Fatal(err)
		}
		if len(with.Touches) != want || with.Touches[len(with.Touches)-1].Path == "off" {
			t.Errorf("with access_log: %s, nginx touches %v", log, with.Touches)
		}
	}
	if len(p.Touches) != 2 || p.Touches[1].Path != "${access_log}" {
		t.Errorf("the pack itself has changed: %v", p.Touches)
	}
}

// Whoever compares two environments has to know what a server works on.
func TestEveryPackWithAServerOrADiskSaysWhatItTouches(t *testing.T) {
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if (len(p.Servers) > 0 || p.Stresses == "disk") && len(p.Touches) == 0 && !slices.Contains([]string{"iperf3", "iperf3-udp"}, name) {
			t.Errorf("%s touches nothing", name)
		}
	}
}
