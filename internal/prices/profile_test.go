package prices

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
	"tare/internal/usage"
	"tare/internal/usage/cost"
	"tare/internal/usage/evidence"
	"tare/internal/workload"
)

// profiled is a run of a workload whose operation takes 10 µs of CPU time natively, 4 of them
// in user mode, 11 where it is counted, and 30 in gVisor. The evidence is of a thousand
// operations.
func profiled(blocks int, of map[string]float64) *rundir.Run {
	r := &rundir.Run{Plan: &study.Plan{Baseline: "native"}}
	r.Manifest.Run, r.Manifest.Machine = "profile-1", rundir.Machine{CPU: "A CPU", Kernel: "6.1", Cores: 2}
	r.Plan.Workloads = []study.Workload{{Name: "app", Pack: workload.Pack{Name: "app", Operations: "requests"}, Levels: []study.Level{{}}}}
	for name, cpu := range map[string]float64{"native": 10, Counted: 11, "gvisor": 30} {
		r.Plan.Environments = append(r.Plan.Environments, study.Environment{Name: name})
		for b := 1; b <= blocks; b++ {
			t := rundir.Trial{Block: b, Environment: name, Workload: "app", Status: rundir.OK, HostSeconds: .02}
			t.Metrics = map[string]float64{"requests": 1000, cost.CPU: cpu / 1000}
			t.Usage = &usage.Usage{CPUUser: usage.Known(.004), CPUSystem: usage.Known(.006)}
			if name == Counted {
				t.Evidence = &evidence.Evidence{Counts: map[string]usage.Figure{evidence.Syscalls: usage.Known(1)}}
				for what, n := range of {
					t.Evidence.Counts[what] = usage.Known(n)
				}
			}
			r.Trials = append(r.Trials, t)
		}
	}
	return r
}

func profileOf(r *rundir.Run) (Profile, error) { return ProfileOf(r, r.Plan.Workloads[0], nil) }

// kindsOf adds up what a profile is priced by.
func kindsOf(items []Item) map[string]float64 {
	sums := map[string]float64{}
	for _, item := range items {
		for kind, n := range item.Kinds {
			sums[kind] += n
		}
	}
	return sums
}

func TestCountsBecomeKindsOfThePriceList(t *testing.T) {
	const n = 1000
	for name, c := range map[string]struct{ counts, kinds map[string]float64 }{
		"a size between two of the list is divided between them": {
			map[string]float64{"syscall.pread64": n, "transfer.read.file.small": n, "bytes.read.file.small": n * (1 + 4095./4)},
			map[string]float64{"read-1": .75, "read-4k": .25},
		},
		"a call of read of a file has a trap, which that of the kind has not": {
			map[string]float64{"syscall.read": n, "transfer.read.file.small": n, "bytes.read.file.small": n},
			map[string]float64{"read-1": 1, "trap": 1, "getpid": -1},
		},
		"a size above the last is continued": {
			map[string]float64{"syscall.write": n, "transfer.write.pipe.large": n, "bytes.write.pipe.large": n * (65536 + 61440)},
			map[string]float64{"pipe-4k": -.5, "pipe-64k": 1},
		},
		"a write and a read of a socket are one pair": {
			map[string]float64{"syscall.sendto": n, "syscall.recvfrom": n, "transfer.write.tcp.small": n, "transfer.read.tcp.small": n, "bytes.write.tcp.small": n, "bytes.read.tcp.small": n},
			map[string]float64{"tcp-1": 1, "tcp-64k": 0, "trap": -1, "getpid": 1}, // that of the kind is a call of read
		},
		"a call that reads nothing is another call": {
			map[string]float64{"syscall.read": 3 * n, "transfer.read.other.small": n, "bytes.read.other.small": 8 * n},
			map[string]float64{"getpid": 2, "trap": 1},
		},
		"a wait in epoll of a program with sockets is one for the network": {
			map[string]float64{"syscall.epoll_wait": 2 * n, "blocked.syscall.epoll_wait": n, evidence.Voluntary: n, "syscall.read": n, "transfer.read.tcp.small": n, "bytes.read.tcp.small": n},
			map[string]float64{"epoll": 2, "tcp-1": .5 - 1, "tcp-64k": 0, "tcp-switch": 1},
		},
		"a wait for a futex has its wake-up in its price": {
			map[string]float64{"syscall.futex": 3 * n, "blocked.syscall.futex": n, evidence.Voluntary: n},
			map[string]float64{"futex": 1, "getpid": 1},
		},
		"a wait for a pipe is a change of the task": {
			map[string]float64{"syscall.read": n, "transfer.read.pipe.small": n, "bytes.read.pipe.small": n, "blocked.syscall.read": n, evidence.Voluntary: n},
			map[string]float64{"pipe-1": .5 - 1, "pipe-4k": 0, "switch": 1},
		},
		"a sleep has its wait in its price": {
			map[string]float64{"syscall.nanosleep": n, "blocked.syscall.nanosleep": n, evidence.Voluntary: n},
			map[string]float64{"timer": 1},
		},
		"an open has its close in its price, and other closes have their own": {
			map[string]float64{"syscall.openat": n, "syscall.close": 3 * n},
			map[string]float64{"open": 1, "getpid": 2},
		},
		"a connection has both its ends in its price": {
			map[string]float64{"syscall.socket": n, "syscall.connect": n, "syscall.accept4": n, "syscall.setsockopt": 3 * n, "syscall.close": 2 * n},
			map[string]float64{"accept": 1, "sockopt": 1},
		},
		"a program has its fork, its wait and its end in its price": {
			map[string]float64{"syscall.clone": 2 * n, evidence.Processes: n, evidence.Threads: n, "syscall.execve": n, "syscall.wait4": n, "syscall.exit_group": n, "blocked.syscall.wait4": n, evidence.Voluntary: n},
			map[string]float64{"exec": 1, "thread": 1},
		},
		"faults and maps": {
			map[string]float64{evidence.MinorFaults: 5 * n, "syscall.mmap": n, "syscall.munmap": n},
			map[string]float64{"fault": 5, "mmap": 1},
		},
		"a sync has its wait in its price": {
			map[string]float64{"syscall.fsync": n, "blocked.syscall.fsync": n, evidence.Voluntary: n},
			map[string]float64{"fsync": 1, "write-4k": -1},
		},
		"calls with a price of their own": {
			map[string]float64{"syscall.epoll_ctl": n, "syscall.getsockopt": n, "syscall.sched_yield": n},
			map[string]float64{"epoll-ctl": 1, "sockopt": 1, "yield": 1},
		},
	} {
		p, err := profileOf(profiled(6, c.counts))
		if err != nil {
			t.Fatal(err)
		}
		got := kindsOf(p.Items)
		for kind := range c.kinds {
			if math.Abs(got[kind]-c.kinds[kind]) > 1e-9 {
				t.Errorf("%s: %s is %g, not %g", name, kind, got[kind], c.kinds[kind])
			}
			delete(got, kind)
		}
		for kind, n := range got {
			if math.Abs(n) > 1e-9 {
				t.Errorf("%s: %g of %s", name, n, kind)
			}
		}
	}
}

// priced is a list in which each kind costs so many nanoseconds of CPU time more in gVisor,
// in blocks that are a tenth cheaper or dearer.
func priced(of map[string]float64) List {
	l := List{Baseline: "native", Environments: []Environment{{Name: "gvisor"}}}
	for kind, each := range of {
		l.Kinds = append(l.Kinds, kind)
		cpu := 100.
		l.Prices = append(l.Prices, Price{Environment: "native", Kind: kind, Time: 100, CPU: &cpu})
		p := Price{Environment: "gvisor", Kind: kind}
		for b := range 7 {
			v := each * (1 + float64(b-3)/30)
			p.Each = append(p.Each, Difference{Block: b + 1, Time: v, CPU: &v})
		}
		p.MoreTime, p.MoreCPU = more(p.Each)
		l.Prices = append(l.Prices, p)
	}
	return l
}

func TestAPredictionIsCountsTimesPricesWithBothIntervals(t *testing.T) {
	p, err := profileOf(profiled(6, map[string]float64{"syscall.getuid": 2000, evidence.MinorFaults: 1000, "syscall.fsync": 1000}))
	if err != nil {
		t.Fatal(err)
	}
	all := priced(map[string]float64{"getpid": 1000, "fault": 6000}).Predict(p)
	if len(all) != 1 || math.Abs(all[0].MoreCPU.Estimate-8000) > 1e-6 || !all[0].MoreCPU.bounded() {
		t.Fatalf("%+v", all)
	}
	one := all[0]
	// The blocks of the list are a tenth apart, and move all prices together.
	if low := *one.MoreCPU.Low; low > 7800 || low < 7000 {
		t.Errorf("the interval begins at %g", low)
	}
	if one.Items[0].Name != "page faults" || math.Abs(one.Items[0].CPU-6000) > 1e-6 {
		t.Errorf("the first item is %+v", one.Items[0])
	}
	if len(one.Unpriced) != 1 || one.Unpriced[0] != "syncs to disk" {
		t.Errorf("without a price: %q", one.Unpriced)
	}
	if math.Abs(one.Rate.Estimate-10./18) > 1e-9 {
		t.Errorf("the rate is %g", one.Rate.Estimate)
	}
	if m := p.Measured; len(m) != 1 || math.Abs(m[0].MoreCPU.Estimate-20000) > 1e-6 {
		t.Errorf("measured: %+v", m)
	}
	if p.Counting == nil || math.Abs(p.Counting.Estimate-.1) > 1e-9 {
		t.Errorf("counting costs %+v", p.Counting)
	}
	var text strings.Builder
	p.Text(&text, 80)
	TextOf(&text, p, all, 80)
	reporttest.Golden(t, "profile.txt", []byte(text.String()))
}

func TestTheProgramsOwnWorkIsPricedByTheKindThatComputes(t *testing.T) {
	p, err := profileOf(profiled(6, map[string]float64{"syscall.getuid": 1000}))
	if err != nil {
		t.Fatal(err)
	}
	// Arithmetic takes three times as long: 4 µs are 8 more.
	if one := priced(map[string]float64{"getpid": 0, "compute": 200}).Predict(p)[0]; math.Abs(one.MoreCPU.Estimate-8000) > 1e-6 {
		t.Errorf("%+v", one.MoreCPU)
	}
}

func TestWithoutCountsThereIsNoProfile(t *testing.T) {
	r := profiled(6, nil)
	for i := range r.Trials {
		if e := r.Trials[i].Evidence; e != nil {
			e.Counts = map[string]usage.Figure{evidence.Syscalls: usage.Absent("BPF is not permitted")}
		}
	}
	if _, err := profileOf(r); err == nil || !strings.Contains(err.Error(), "BPF is not permitted") {
		t.Error(err)
	}
}

func TestChangesOfTheProgramHaveWhatTheyWouldSave(t *testing.T) {
	// Ten writes of 100 bytes to a pipe, and a file opened, in each operation.
	p, err := profileOf(profiled(6, map[string]float64{
		"syscall.write": 10_000, "transfer.write.pipe.small": 10_000, "bytes.write.pipe.small": 1e6, "syscall.openat": 1000, "syscall.close": 1000,
	}))
	if err != nil {
		t.Fatal(err)
	}
	one := priced(map[string]float64{"pipe-1": 2000, "pipe-4k": 2000, "open": 5000}).Predict(p)[0]
	if len(one.Changes) != 2 || math.Abs(one.Changes[0].Saves-8000) > 1e-6 || math.Abs(one.Changes[1].Saves-4500) > 1e-6 {
		t.Errorf("%+v", one.Changes)
	}
	if text := one.sentence(p); !strings.Contains(text, "67% writes to pipes up to 4 KiB (10.0 at 1.00 µs), 33% files opened") || !strings.Contains(text, "files kept open for ten operations would save 4.50 µs") {
		t.Error(text)
	}
}

func TestAGapIsHeldAgainstItsPrediction(t *testing.T) {
	for faults, says := range map[float64]string{
		3000: "the prices explain 90% of it", 1000: "14.0 µs of it has no price", 10_000: "less than calls one by one would cost",
	} {
		all, without := priced(map[string]float64{"fault": 6000}).Gaps(profiled(6, map[string]float64{evidence.MinorFaults: faults}))
		if len(all) != 1 || len(without) > 0 || !strings.Contains(all[0].Sentence(), "it adds +20.0 µs [+20.0, +20.0] µs: "+says) {
			t.Errorf("%+v %q", all, without)
			continue
		}
		if share := min(1, 6*faults/20000); all[0].Explained == nil || math.Abs(*all[0].Explained-share) > 1e-9 {
			t.Errorf("explained: %v, not %g", all[0].Explained, share)
		}
	}
}

func TestTracedTrialsOfTheBaselineAreAProfileToo(t *testing.T) {
	r := profiled(6, map[string]float64{evidence.MinorFaults: 3000})
	r.Trials = slices.DeleteFunc(r.Trials, func(t rundir.Trial) bool {
		if t.Environment == Counted && t.Block == 1 {
			t.Environment, t.Traced = "native", true
			r.Traced = append(r.Traced, t)
		}
		return t.Environment == Counted || t.Traced
	})
	r.Plan.Environments = slices.DeleteFunc(r.Plan.Environments, func(e study.Environment) bool { return e.Name == Counted })
	l := priced(map[string]float64{"fault": 6000})
	if all, _ := l.Gaps(r); len(all) != 0 {
		t.Errorf("nothing was to be traced: %+v", all)
	}
	r.Plan.Sampling.Traced = 1
	if all, _ := l.Gaps(r); len(all) != 1 || !strings.Contains(all[0].Sentence(), "gvisor would add +18.0 µs to the CPU time of an operation of app; it adds +20.0 µs") {
		t.Errorf("%+v", all)
	}
	// One whose tracing failed is named.
	r.Traced = nil
	if all, without := l.Gaps(r); len(all) != 0 || len(without) != 1 || !strings.Contains(without[0], "says nothing of app: profile-1 has no counted trial of app that succeeded") {
		t.Errorf("%+v %q", all, without)
	}
}

// A measurement that is made again and again varies as its baseline does, there and natively: the
// expected interval has 95% of them.
func TestTheExpectedIntervalHasTheNoiseOfAMeasurement(t *testing.T) {
	const blocks, trials, sigma, gap = 6, 2000, .1, 2.0
	random := rand.New(rand.NewPCG(1, 2))
	mean := func(centre float64) *Amount {
		var all []float64
		for range blocks {
			all = append(all, centre*(1+sigma*random.NormFloat64()))
		}
		return amount(all)
	}
	exact := Amount{Estimate: gap, Low: new(float64), High: new(float64)}
	*exact.Low, *exact.High = gap, gap
	within := 0
	for range trials {
		p := Profile{CPU: *mean(1)}
		e := p.expected(exact)
		if v := mean(1+gap).Estimate - mean(1).Estimate; *e.Low <= v && v <= *e.High {
			within++
		}
	}
	if share := float64(within) / trials; share < .93 {
		t.Errorf("%.3f of the measurements are expected", share)
	}
}

func TestPredictionsAreHeldAgainstWhatWasMeasured(t *testing.T) {
	var check Check
	l := priced(map[string]float64{"fault": 6000})
	for _, faults := range []float64{3300, 1000} {
		p, err := profileOf(profiled(6, map[string]float64{evidence.MinorFaults: faults}))
		if err != nil {
			t.Fatal(err)
		}
		check.Add(p, l.Predict(p))
	}
	var text strings.Builder
	check.Text(&text, 100)
	reporttest.Golden(t, "check.txt", []byte(text.String()))
}

func TestExchangesWithTheHostAndBetweenInstancesHavePricesOfTheirOwn(t *testing.T) {
	const n = 1000
	for name, c := range map[string]struct {
		place string
		bytes float64 // of a transfer
		want  map[string]float64
	}{
		"from the host": {workload.OnHost, 1, map[string]float64{"outside-1": 1, "outside-64k": 0, "outside-connect": 1}},
		// An exchange is four of them, two at each end.
		"between instances": {workload.Apart, 1, map[string]float64{"apart-1": .5, "apart-64k": 0, "apart-connect": 1}},
		// Of 64 KiB and back: two exchanges of which one way is a byte, less those.
		"from the host, large":     {workload.OnHost, 64 << 10, map[string]float64{"outside-1": -1, "outside-64k": 2}},
		"between instances, large": {workload.Apart, 64 << 10, map[string]float64{"apart-1": -.5, "apart-64k": 1}},
	} {
		r := profiled(6, map[string]float64{
			"syscall.read": n, "syscall.write": n, "transfer.read.tcp.small": n, "transfer.write.tcp.small": n,
			"bytes.read.tcp.small": n * c.bytes, "bytes.write.tcp.small": n * c.bytes,
			"blocked.transfer.read.tcp.small": n, evidence.Voluntary: n, "syscall.accept4": n, "syscall.close": n,
		})
		r.Plan.Workloads[0].Pack.Roles = map[string]workload.Role{"client": {Place: c.place}}
		r.Plan.Workloads[0].Pack.Driver = &workload.Step{Role: "client"}
		p, err := profileOf(r)
		if err != nil {
			t.Fatal(err)
		}
		for kind, want := range c.want {
			if got := kindsOf(p.Items)[kind]; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %g of %s, not %g", name, got, kind, want)
			}
		}
		for _, kind := range []string{"tcp-switch", "tcp-1", "accept"} {
			if got := kindsOf(p.Items)[kind]; math.Abs(got) > 1e-9 {
				t.Errorf("%s: %g of %s", name, got, kind)
			}
		}
	}
}

func TestAnOperationOfAJobIsARun(t *testing.T) {
	r := profiled(6, map[string]float64{"syscall.getuid": 3, "syscall.openat": 2})
	r.Plan.Workloads[0].Pack.Operations = ""
	for i := range r.Trials {
		r.Trials[i].Metrics = nil
	}
	p, err := profileOf(r)
	if err != nil {
		t.Fatal(err)
	}
	if all := priced(map[string]float64{"getpid": 1000, "open": 9000}).Predict(p); len(all[0].Changes) > 0 {
		t.Errorf("changes: %+v", all[0].Changes)
	}
	// 4 ms in user mode and 6 in the kernel.
	if p.Operation != "run" || math.Abs(p.CPU.Estimate-10e6) > 1 || math.Abs(p.User.Estimate-4e6) > 1 || math.Abs(p.Items[0].Count-3) > 1e-9 {
		t.Errorf("%+v", p)
	}
}

// withOptions adds an environment to a list: the other with options, and with other prices.
func withOptions(l List, other, options string, prices List) List {
	l.Environments = slices.Clone(l.Environments)
	for i := range l.Environments {
		l.Environments[i].Kind = l.Environments[i].Name
	}
	l.Environments = append(l.Environments, Environment{Name: other + "-changed", Kind: other, Options: options})
	for _, p := range prices.Prices {
		if p.Environment == other {
			p.Environment += "-changed"
			l.Prices = append(l.Prices, p)
		}
	}
	return l
}

func TestAnEnvironmentWithOtherOptionsIsAChange(t *testing.T) {
	r := profiled(6, map[string]float64{"syscall.getuid": 1000})
	for i := range r.Plan.Environments {
		r.Plan.Environments[i].Kind = r.Plan.Environments[i].Name
	}
	p, err := profileOf(r)
	if err != nil {
		t.Fatal(err)
	}
	l := withOptions(priced(map[string]float64{"getpid": 20_000}), "gvisor", "network=host", priced(map[string]float64{"getpid": 5000}))
	all := l.Predict(p)
	if len(all) != 2 || len(all[0].Changes) != 1 || all[0].Changes[0].What != "network=host" || math.Abs(all[0].Changes[0].Saves-15_000) > 1e-6 || all[0].Changes[0].Environment != "gvisor-changed" {
		t.Fatalf("%+v", all)
	}
	if len(all[1].Changes) != 0 {
		t.Errorf("what is dearer is no change: %+v", all[1].Changes)
	}
	// It is shown in the row of the other alone, until it was measured.
	var text strings.Builder
	TextOf(&text, p, all, 200)
	if strings.Contains(text.String(), "gvisor-changed") || !strings.Contains(text.String(), "What would change it, by prediction: network=host would save 15.0 µs") {
		t.Error(text.String())
	}
	p.Measured = append(p.Measured, Measured{Environment: "gvisor-network-host", Kind: "gvisor", Options: "network=host", MoreCPU: Amount{Estimate: 6000}})
	text.Reset()
	TextOf(&text, p, all, 200)
	if !strings.Contains(text.String(), "gvisor-changed") || !strings.Contains(text.String(), "network=host would save 15.0 µs (measured: 14.0 µs)") {
		t.Error(text.String())
	}
	if others := l.OtherOptions([]string{"gvisor", "docker"}); !slices.Equal(others, []string{"gvisor+network=host"}) {
		t.Errorf("%q", others)
	}
}

func TestAChangeOfOptionsSaysWhatIsSetAndWhatIsNot(t *testing.T) {
	for _, c := range []struct{ then, now, says string }{
		{"network=host", "", "network=host"},
		{"", "log=json-file", "no log=json-file"},
		{"network=host", "network=nat log=local", "network=host and no log=local"},
	} {
		if says := inPlace(c.then, c.now); says != c.says {
			t.Errorf("%q in place of %q: %q, not %q", c.then, c.now, says, c.says)
		}
	}
}

func TestWithoutIntervalsNoneIsMissed(t *testing.T) {
	var check Check
	l := priced(map[string]float64{"fault": 6000})
	for range 2 {
		p, err := profileOf(profiled(3, map[string]float64{evidence.MinorFaults: 1000}))
		if err != nil {
			t.Fatal(err)
		}
		check.Add(p, l.Predict(p))
	}
	var text strings.Builder
	check.Text(&text, 1000)
	if s := text.String(); strings.Contains(s, "*") || !strings.Contains(s, "fewer than 4 blocks") || !strings.Contains(s, "the median error is 47%") {
		t.Error(s)
	}
}
