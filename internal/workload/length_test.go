package workload

import (
	"strings"
	"testing"
	"time"
)

const scaled = `workload: scaled
stresses: cpu
parameters:
  seconds: {default: 1, unit: s, min: 1, max: 3600}
  clients: {default: 4}
  requests: {default: 0, min: 0, max: 5000}
setup: [{run: "make ready ${clients}"}]
driver: {run: "drive --time ${seconds}", role: driver}
length:
  time: seconds
  sample: 100ms
  amount: requests
  start: 50
  driver: {run: "count ${requests}", role: driver}
  parser: dd
parser: {name: wrk}
metrics:
  - {name: requests, unit: op, better: higher, primary: true, field: seconds}
`

func TestADriverKeepsALengthOrGetsAnAmount(t *testing.T) {
	timed, err := Decode("scaled.yaml", []byte(scaled))
	if err != nil {
		t.Fatal(err)
	}
	counted, err := Decode("scaled.yaml", []byte(strings.NewReplacer("--time ${seconds}", "-n ${requests}", "\n  driver: {run: \"count ${requests}\", role: driver}\n  parser: dd", "").Replace(scaled)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		pack   *Pack
		values map[string]string
		sample time.Duration
		driver string
		parser string
		find   time.Duration
	}{
		{"the default", timed, nil, 0, "drive --time 1", "wrk", 0},
		{"a length that the driver keeps", timed, nil, 3 * time.Second, "drive --time 3", "wrk", 0},
		{"one that it does not", timed, nil, 100 * time.Millisecond, "drive --time 1", "wrk", 100 * time.Millisecond},
		{"an amount", timed, map[string]string{"requests": "7", "seconds": "5"}, 100 * time.Millisecond, "count 7", "dd", 0},
		{"a driver without time, by default", counted, nil, 0, "drive -n 0", "wrk", time.Second},
		{"its parameter", counted, map[string]string{"seconds": "2"}, 0, "drive -n 0", "wrk", 2 * time.Second},
		{"its length", counted, map[string]string{"seconds": "2"}, 3 * time.Second, "drive -n 0", "wrk", 3 * time.Second},
		{"its amount", counted, map[string]string{"requests": "7"}, 0, "drive -n 7", "wrk", 0},
	} {
		values, find, err := c.pack.WithSample(c.values, c.sample)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		with, err := c.pack.With(values, InstanceVars{})
		if err != nil || with.Driver.Run != c.driver || with.Parser.Name != c.parser || find != c.find {
			t.Errorf("%s: driver %q, parser %s, find %v, %v", c.name, with.Driver.Run, with.Parser.Name, find, err)
		}
	}
	if open, err := timed.WithoutAmount(nil, InstanceVars{}); err != nil || open.Driver.Run != "count ${requests}" {
		t.Errorf("without an amount: %q, %v", open.Driver.Run, err)
	}
	if timed.Driver.Run != "drive --time ${seconds}" || timed.Length.Driver.Run != "count ${requests}" {
		t.Error("the pack itself was changed")
	}
}

func TestALengthThatNothingKeepsIsAnError(t *testing.T) {
	p, err := Builtin("fio")
	if err != nil {
		t.Fatal(err)
	}
	p.Length = &Length{Time: "milliseconds", Sample: time.Second}
	if _, _, err := p.WithSample(nil, 20*time.Millisecond); err == nil || err.Error() != "workload fio: samples of 20ms: milliseconds: 20 is out of range: 50 to 86400000 ms are allowed" {
		t.Errorf("got %v", err)
	}
}

func TestErrorsInALengthAreReported(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"time: seconds", "time: second"}:                                             `scaled.yaml:10:9: length: time: unknown parameter "second"; did you mean "seconds"?`,
		{"  time: seconds\n", ""}:                                                     "length: time: is missing",
		{"unit: s,", "unit: min,"}:                                                    "length: time: parameter seconds needs the unit s or ms",
		{"sample: 100ms", "sample: 2h"}:                                               "length: sample: write the length of each of several samples, such as 100ms; at most 1h0m0s",
		{"  sample: 100ms\n", ""}:                                                     "length: sample: write the length",
		{"sample: 100ms", "sample: soon"}:                                             "is not a duration",
		{"amount: requests", "amount: request"}:                                       `length: amount: unknown parameter "request"; did you mean "requests"?`,
		{"  amount: requests\n", ""}:                                                  "length: start, driver and parser have no effect without amount",
		{"requests: {default: 0,", "requests: {default: 9,"}:                          "length: amount: parameter requests needs the default 0, which means that tare finds the amount",
		{"start: 50", "start: 6000"}:                                                  "length: start: 6000 is out of range: 0 to 5000 are allowed",
		{"count ${requests}", "count ${clients}"}:                                     "length: amount: the driver does not use ${requests}",
		{"count ${requests}\", role: driver", "count ${requests}\", role: server"}:    `length: driver: needs the role of the pack's driver, "driver"`,
		{"make ready ${clients}", "make ready ${requests}"}:                           "length: amount: only the driver can use ${requests}, since other steps run before it is known",
		{"parser: dd", "parser: ddd"}:                                                 `length: unknown parser "ddd"; did you mean "dd"?`,
		{"parser: dd", "parser: fio"}:                                                 "metric requests is primary, and the parser fio of length has no field seconds",
		{"driver: {run: \"drive --time ${seconds}\", role: driver}", "startup: true"}: "length: a pack without a driver has no samples of a chosen length",
	} {
		text := strings.Replace(scaled, change[0], change[1], 1)
		if text == scaled {
			t.Fatalf("%q is not in the pack", change[0])
		}
		if _, err := Decode("scaled.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %q in it", change[1], err, want)
		}
	}
	text := strings.Replace(scaled[:strings.Index(scaled, "  amount:")]+scaled[strings.Index(scaled, "parser: {name"):], "${seconds}", "1", 1)
	if _, err := Decode("scaled.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "length: the driver does not use ${seconds}; name the parameter that scales its work with amount") {
		t.Errorf("a length without effect gave %v", err)
	}
}
