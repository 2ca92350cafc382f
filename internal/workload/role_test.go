package workload

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCommandsKnowWhereTheyRun(t *testing.T) {
	const text = `
workload: pair
stresses: network
roles: {server: {place: apart, count: 2}}
servers: [{argv: [serve, "${address}", "${index}"], role: server, ready: {tcp: "${address}:80"}}]
driver: {argv: [drive, "${address.server}", "${addresses.server}", "$${address}"], role: driver}
parser: {regex: ['(?P<n>\d+)']}
metrics: [{name: n, unit: op, better: higher, primary: true}]
`
	p, err := Decode("pair.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	with, err := p.With(nil, InstanceVars{Address: "10.0.0.3", Index: 2, Roles: map[string][]string{"server": {"10.0.0.2", "10.0.0.3"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(append(append(with.Driver.Argv, with.Servers[0].Argv...), with.Servers[0].Ready.TCP), " ")
	if want := "drive 10.0.0.2 10.0.0.2,10.0.0.3 ${address} serve 10.0.0.3 2 10.0.0.3:80"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	alone, err := p.With(nil, InstanceVars{})
	if err != nil || alone.Driver.Argv[1] != "127.0.0.1" {
		t.Errorf("all in one instance: %v, %v", alone.Driver.Argv, err)
	}
	for change, says := range map[string]string{
		"place: apart, count: 2": "", "place: apart, count: 0": "not a number from 1 to 1000", "place: near": `unknown place "near"`,
		"count: 2": "needs place: apart",
	} {
		_, err := Decode("pair.yaml", []byte(strings.Replace(text, "place: apart, count: 2", change, 1)))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: got %v, want %q", change, err, says)
		}
	}
	if _, err := Decode("pair.yaml", []byte(strings.Replace(text, "${address.server}", "${address.servr}", 1))); err == nil || !strings.Contains(err.Error(), `did you mean "address.server"?`) {
		t.Errorf("a mistyped role: %v", err)
	}
}

func TestSeveralCopiesBecomeOneFigure(t *testing.T) {
	for _, c := range []struct {
		metric Metric
		want   float64
	}{
		{Metric{Unit: "op/s", Better: "higher"}, 9}, {Metric{Unit: "op", Better: "higher"}, 9},
		{Metric{Unit: "ms", Better: "lower"}, 3}, {Metric{Unit: "op/s", Better: "lower"}, 3}, {Metric{Unit: "1", Better: "higher"}, 3},
		{Metric{Unit: "ms", Better: "lower", Across: "max"}, 5}, {Metric{Unit: "ms", Better: "lower", Across: "sum"}, 9},
		{Metric{Unit: "op/s", Better: "higher", Across: "mean"}, 3},
		{Metric{Unit: "s", Better: "lower", Across: "p50"}, 3}, {Metric{Unit: "s", Better: "lower", Across: "p95"}, 4.8},
		{Metric{Unit: "s", Better: "lower", Across: "p99"}, 4.96},
	} {
		if got := c.metric.Combine([]float64{1, 3, 5}); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v of 1, 3 and 5 is %v, not %v", c.metric, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(0, 1e9).Draw(t, "v")
		m := Metric{Unit: rapid.SampledFrom([]string{"op/s", "ms", "1"}).Draw(t, "unit"), Better: rapid.SampledFrom([]string{"higher", "lower"}).Draw(t, "better")}
		if got := m.Combine([]float64{v}); got != v {
			t.Fatalf("one copy's %v became %v", v, got)
		}
	})
}

func TestOnlyAPackThatAsksForAnAddressListens(t *testing.T) {
	for command, want := range map[string]bool{
		"serve ${address}": true, "serve ${address.server}": true, "ask ${addresses.server}": true,
		"serve": false, "echo $${address}": false, "echo ${index}": false,
	} {
		if got := (Pack{Driver: &Step{Run: command}}).UsesAddress(); got != want {
			t.Errorf("%s: %t", command, got)
		}
	}
}

func TestOnlyStartsAreWatchedAtRestAndOnlyForAWhile(t *testing.T) {
	const text = "workload: many\nstresses: start\nimage: {}\nstartup: true\nrest: \"1.5\"\nmetrics: [{name: memory, unit: B, better: lower, primary: true}]\n"
	pack, err := Decode("many.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := pack.RestTime(); err != nil || rest != 1500*time.Millisecond {
		t.Errorf("%v, %v", rest, err)
	}
	for change, says := range map[string]string{"rest: \"soon\"\n": "not a number of seconds", "rest: \"0\"\n": "not a number of seconds", "": "only if rest: is set"} {
		_, err := Decode("many.yaml", []byte(strings.Replace(text, "rest: \"1.5\"\n", change, 1)))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, not %q", change, err, says)
		}
	}
}

func TestTheDriverHasTheLastHalfOfTheCoresAndTheServersTheFirst(t *testing.T) {
	both := Pack{Servers: []Server{{Step: Step{Role: "server"}}}, Driver: &Step{Role: "driver"}}
	three := Pack{Servers: []Server{{Step: Step{Role: "web"}}, {Step: Step{Role: "db"}}}, Driver: &Step{Role: "driver"}, Roles: map[string]Role{"db": {Cores: "1"}}}
	apart := Pack{Servers: both.Servers, Driver: both.Driver, Roles: map[string]Role{"driver": {Place: Apart}}}
	alone := Pack{Driver: &Step{Role: "driver"}}
	one := Pack{Driver: &Step{Role: "driver"}, Roles: map[string]Role{"driver": {Cores: "1"}}}
	nine := Pack{Driver: &Step{Role: "driver"}, Roles: map[string]Role{"driver": {Cores: "9"}}}
	for _, c := range []struct {
		name  string
		pack  Pack
		cores []int
		want  map[string][]int
	}{
		{"two cores", both, []int{0, 1}, map[string][]int{"server": {0}, "driver": {1}}},
		{"an odd number, not from 0", both, []int{3, 5, 6, 7, 9}, map[string][]int{"server": {3, 5}, "driver": {7, 9}}},
		{"hyperthreads that have the last numbers", both, []int{0, 4, 1, 5, 2, 6, 3, 7}, map[string][]int{"server": {0, 1, 4, 5}, "driver": {2, 3, 6, 7}}},
		{"several servers, one of a thread", three, []int{0, 1, 2, 3}, map[string][]int{"web": {0, 1}, "db": {0}, "driver": {2, 3}}},
		{"one core", both, []int{4}, nil},
		{"unknown cores", both, nil, nil},
		{"roles apart", apart, []int{0, 1}, nil},
		{"a driver alone", alone, []int{0, 1}, map[string][]int{}},
		{"a driver of one thread", one, []int{0, 1, 2}, map[string][]int{"driver": {2}}},
		{"a driver of more threads than cores", nine, []int{0, 1}, map[string][]int{}},
		{"no driver", Pack{Startup: true}, []int{0, 1}, nil},
	} {
		if got := c.pack.Divide(c.cores); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
