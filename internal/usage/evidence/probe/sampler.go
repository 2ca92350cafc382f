package probe

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"tare/internal/linux/cgroup"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// samplePeriod is the time between two samples of a processor, in nanoseconds:
// about 2000 per second, and not in step with the kernel's own ticks.
const samplePeriod = 500_251

// sampler samples what each processor executes at regular intervals. Tracing
// every function would slow those most that are called most.
type sampler struct {
	objects sampleObjects
	missing string // why there are no samples
	events  []int  // perf events, one per processor
	closers []io.Closer
}

func startSampler(tasks *ebpf.Map) *sampler {
	s := &sampler{}
	if err := s.start(tasks); err != nil {
		s.close()
		s.missing = "sampling the processors: " + err.Error()
	}
	return s
}

func (s *sampler) start(tasks *ebpf.Map) error {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(sampleObject))
	if err != nil {
		return err
	}
	o := &s.objects
	if err := loaded(func() error {
		return spec.LoadAndAssign(o, &ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{"tare_tasks": tasks}})
	}); err != nil {
		return fmt.Errorf("loading the program: %w", err)
	}
	s.closers = append(s.closers, o.Tasks, o.Stacks, o.Samples, o.Sample)
	processors, err := onlineProcessors()
	if err != nil {
		return err
	}
	for _, processor := range processors {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: unix.PERF_ATTR_SIZE_VER5, Sample: samplePeriod}
		event, err := unix.PerfEventOpen(&attr, -1, processor, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return fmt.Errorf("perf_event_open on processor %d: %w", processor, err)
		}
		s.events = append(s.events, event)
		if err := unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, o.Sample.FD()); err != nil {
			return fmt.Errorf("attaching %s to processor %d: %w", o.Sample, processor, err)
		}
	}
	return nil
}

func (s *sampler) close() {
	for _, event := range s.events {
		unix.Close(event)
	}
	for _, c := range slices.Backward(s.closers) {
		c.Close()
	}
	s.events, s.closers = nil, nil
}

// disable ends the sampling; the samples stay.
func (s *sampler) disable() {
	for _, event := range s.events {
		if err := unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
			s.missing = "ending the sampling: " + err.Error()
		}
	}
}

// addTo adds the sampled times of each part, of all parts, and of the host.
func (s *sampler) addTo(e *evidence.Evidence, parts []string) {
	if s.missing == "" {
		if err := s.addSamples(e, parts); err != nil {
			s.missing = err.Error()
		}
	}
	if s.missing != "" {
		e.Times[evidence.InKernel], e.Times[evidence.InUser] = usage.Absent("%s", s.missing), usage.Absent("%s", s.missing)
	}
}

func (s *sampler) addSamples(e *evidence.Evidence, parts []string) error {
	symbols, err := readSymbols()
	if err != nil {
		return err
	}
	names := map[int32]string{} // by stack
	var key sample
	var samples uint64
	add := func(times map[string]usage.Figure, name string) {
		times[name] = usage.Known(times[name].Value + float64(samples)*samplePeriod/1e9)
	}
	for entries := s.objects.Samples.Iterate(); entries.Next(&key, &samples); {
		name, known := names[key.Stack]
		if !known {
			name = s.nameOf(key.Stack, symbols)
			names[key.Stack] = name
		}
		if name == "" {
			continue
		}
		counted := []string{name}
		if strings.HasPrefix(name, evidence.Kernel) {
			counted = append(counted, evidence.InKernel)
		}
		for _, n := range counted {
			add(e.Times, evidence.Host+n)
			if int(key.Part) == hostPart {
				continue
			}
			add(e.Times, n)
			if part, separate := e.Parts[parts[key.Part]]; separate {
				add(part.Times, n)
			}
		}
	}
	return nil
}

// nameOf returns the name that a stack is counted under; "" for an idle
// processor.
func (s *sampler) nameOf(id int32, symbols symbolTable) string {
	if id == -int32(unix.EFAULT) {
		return evidence.InUser // no frame of it is in the kernel
	}
	var frames [maxFrames]uint64
	if id < 0 || s.objects.Stacks.Lookup(uint32(id), &frames) != nil {
		return evidence.Kernel + otherSection // the map of stacks had no room
	}
	var stack []symbol
	for _, address := range frames {
		if address == 0 {
			break
		}
		stack = append(stack, symbols.find(address))
	}
	switch name := sectionOf(stack); name {
	case "":
		return ""
	case probeSection:
		return evidence.InProbe
	default:
		return evidence.Kernel + name
	}
}

func onlineProcessors() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	list := cgroup.ParseCores(string(text))
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no processor in the list %q", text)
	}
	return list, nil
}
