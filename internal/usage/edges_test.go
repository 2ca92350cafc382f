package usage

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOnlySamplesCountBetweenEdges(t *testing.T) {
	whole := Footprint{Cgroups: []string{"/tare/o/vm"}, Processes: []Process{{4700, "shim"}}}
	on, after := recorded(t)
	continuous := watch(on, whole)
	after()
	want := continuous.Stop()

	on, after = recorded(t)
	e := start(on, Options{AtEdges: true}, Target{Footprint: whole})
	s := e.Samplers[0]
	e.Begin()
	if got := e.End(); got.CPU != Known(0) || got.Steal != Known(0) {
		t.Errorf("nothing moved, and the sample took %+v", got)
	}
	e.Begin()
	after()
	took := e.End()
	if !sameFigure(took.CPU, want.CPU()) || took.Steal != want.Host.Steal {
		t.Errorf("the sample took %+v, want %v and %v", took, want.CPU(), want.Host.Steal)
	}
	e.Close()
	u := s.Stop()
	if !sameFigure(u.CPUUser, want.CPUUser) || !sameFigure(u.CPUSystem, want.CPUSystem) {
		t.Errorf("%v and %v of CPU time, want %v and %v", u.CPUUser, u.CPUSystem, want.CPUUser, want.CPUSystem)
	}
	if u.DiskRead != want.DiskRead || u.MinorFaults != want.MinorFaults || u.Switches != want.Switches {
		t.Errorf("%v read, %v faults, %v switches", u.DiskRead, u.MinorFaults, u.Switches)
	}
	if u.Host == nil || u.Host.Steal != took.Steal || u.Host.Others.Missing == "" || u.Host.Seconds >= s.record.series.At(s.record.series.Len()-1).Seconds {
		t.Errorf("the machine used %+v", u.Host)
	}
	if len(u.Notes) == 0 || !strings.Contains(u.Notes[len(u.Notes)-1], "at the end of each sample") || len(u.Parts) == 0 {
		t.Errorf("notes %q, parts %v", u.Notes, u.Parts)
	}
	if s.record.series.Len() != 6 {
		t.Errorf("%d readings", s.record.series.Len())
	}
}

func TestWhatIsUsedBetweenTwoSamplesIsNotCounted(t *testing.T) {
	on, after := recorded(t)
	e := start(on, Options{AtEdges: true}, Target{Footprint: Footprint{Cgroups: []string{"/tare/o/vm"}}})
	e.Begin()
	e.End()
	after()
	e.Begin()
	e.End()
	e.Close()
	u := e.Samplers[0].Stop()
	if u.CPU() != Known(0) || u.Host.CPU != Known(0) || u.DiskRead != Known(0) {
		t.Errorf("%v of CPU time, %v of the machine's, %v bytes", u.CPU(), u.Host.CPU, u.DiskRead)
	}
	if seconds := u.MemorySeconds.Value; u.MemoryMean.Value*u.Host.Seconds > seconds*2 {
		t.Errorf("memory %v for %v s is %v", u.MemoryMean, u.Host.Seconds, seconds)
	}
}

func TestStolenTimeIsReadFromTheKernelsCountersWhereTheyAre(t *testing.T) {
	on, after := recorded(t)
	counter, asked := 10*time.Second, []int(nil)
	var failure error
	on.stolen = func(cores []int) (time.Duration, error) { asked = cores; return counter, failure }
	e := start(on, Options{AtEdges: true, Cores: []int{1}}, Target{Footprint: Footprint{Cgroups: []string{"/tare/o/vm"}}})
	defer e.Close()
	e.Begin()
	counter += 1234567
	after()
	if got := e.End(); got.Steal != Known(.001234567) || got.StealSource != StealCounters || !slices.Equal(asked, []int{1}) {
		t.Errorf("%v stolen by %s, of cores %v", got.Steal, got.StealSource, asked)
	}
	e.Begin()
	failure = errors.New("no program")
	if got := e.End().Steal; got.Missing != "no program" {
		t.Errorf("a counter that was not read gave %v", got)
	}
}

func sameFigure(a, b Figure) bool { return a.Missing == b.Missing && math.Abs(a.Value-b.Value) < 1e-9 }

func TestOnlyTheTimeStolenFromTheInstancesCoresCounts(t *testing.T) {
	for core, want := range []float64{0.25, 0} {
		on, after := recorded(t)
		e := start(on, Options{AtEdges: true, Cores: []int{core}}, Target{Footprint: Footprint{Cgroups: []string{"/tare/o/vm"}}})
		e.Begin()
		after()
		if got := e.End(); got.Steal != Known(want) || got.StealSource != StealTicks {
			t.Errorf("of core %d %v was stolen by %s", core, got.Steal, got.StealSource)
		}
		e.Close()
	}
}
