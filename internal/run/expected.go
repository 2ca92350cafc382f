package run

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"tare/internal/environment"
	"tare/internal/run/schedule"
	"tare/internal/study"
)

// What a trial takes besides its samples, before anything was measured. In containers of the
// test machine a server is ready after about a second. In a guest that is emulated, that takes
// fifteen times as long, and the guest itself some seconds of each trial. With these, blocks of
// three built-in studies took 0.8 to 1.2 times what was guessed.
const (
	setupOfServers = time.Second
	setupOfOthers  = 300 * time.Millisecond
	leastLoad      = time.Second // of a sample whose work is set by its amount
	emulatedTimes  = 15
	emulatedStart  = 5 * time.Second
)

// expectation guesses what the trials of a plan take.
type expectation struct {
	plan     *study.Plan
	emulated []string // environments that are guests without hardware virtualization here
}

// expect looks at the machine, and starts nothing.
func expect(plan *study.Plan) expectation {
	x := expectation{plan: plan}
	for i := range plan.Environments {
		if e := &plan.Environments[i]; emulated(e) {
			x.emulated = append(x.emulated, e.Name)
		}
	}
	return x
}

// emulated reports whether an environment, or what it runs in, is a guest that this machine
// would emulate. Of other hosts nothing is known yet.
func emulated(e *study.Environment) bool {
	for ; e != nil && e.Host == ""; e = e.Inside {
		options, err := e.Decode()
		if err != nil {
			return false
		}
		registration, _ := environment.Lookup(e.Kind)
		if made, err := registration.New(options); err == nil && environment.Emulated(made.Label()) {
			return true
		}
	}
	return false
}

// trial is what a trial takes with the start of its instance: what its servers and data take
// to be ready, and the samples.
func (x expectation) trial(slot schedule.Slot) time.Duration {
	w, e := x.plan.Workload(slot.Workload), x.plan.Environment(slot.Environment)
	level, _ := w.Level(slot.Level)
	setup, servers := setupOfOthers, 1
	if len(w.Pack.Servers) > 0 {
		setup = setupOfServers
	}
	for _, role := range level.Shape.Roles {
		servers = max(servers, role.Count) // they start one after another
	}
	setup = cmp.Or(w.Pack.SetupTime, setup) * time.Duration(servers)
	if slices.Contains(x.emulated, e.Name) {
		setup = emulatedStart + emulatedTimes*setup
	}
	if slot.Rounds > 0 { // instances of a batch are prepared at the same time
		setup /= time.Duration(min(runtime.NumCPU(), len(x.plan.Environments)))
	}
	load := max(leastLoad, w.LoadTime(level, e, slot.Rounds > 0))
	switch {
	case slot.Rounds == 0:
	case slot.Within > 0: // of all environments together
		load = max(load, slot.Within/time.Duration(len(x.plan.Environments)))
	default:
		load *= time.Duration(slot.Rounds)
	}
	if slot.Rounds == 0 || slot.Environment == x.plan.Baseline {
		load += w.Pause
	}
	return setup + load
}

// words say what the guess is made of.
func (x expectation) words() string {
	text := "guessed from the length of the samples and what servers and data take to be ready, "
	if len(x.emulated) > 0 {
		text += fmt.Sprintf("much longer in a guest that is emulated (%s), ", strings.Join(x.emulated, ", "))
	}
	return text + "with the start of each instance; a run measures this and shows the time left"
}
