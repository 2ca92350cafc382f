// Package calls does one kind of system call many times and says how long that took.
// The agent runs it inside of instances, for the workload "calls".
//
// It must not know what a call costs elsewhere: who compares does.
package calls

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Kind is one kind of call. What it does is in docs/explanation/prices.md.
type Kind struct {
	Name string
	// begin opens what the calls need, in the current directory where that is files, and
	// returns a function that does n of them. What it opens lives as long as the process.
	begin func() (do func(n int) error, err error)
}

// Nothing is the kind that does nothing: what its samples use is the start and the end of the
// program, which all samples have.
const Nothing = "nothing"

// Line is the kind whose output is stored.
const Line = "line"

var kinds = slices.Concat([]Kind{{Nothing, nothing}, {"compute", compute}, {"getpid", getpid}, {"trap", trap}, {"clock", clock}},
	ofPrograms, ofFiles, ofMemory, ofStreams, ofThreads, ofSockets)

// Kinds are the names of all kinds.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// Count is what was done in a sample.
type Count struct {
	Calls       int     // all of them, which the resource use of the sample is of
	Nanoseconds float64 // that one took: the median of the batches
}

// batches is how many measured batches a sample has about: the clock is read once in each.
const batches = 20

// Measure does calls of a kind for that long.
func Measure(name string, length time.Duration) (c Count, err error) {
	k := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if k < 0 {
		return c, fmt.Errorf("%q is not a kind of call (known: %s)", name, strings.Join(Kinds(), ", "))
	}
	switch name {
	case Nothing:
		length = 0
	case Line:
		length /= 10 // all of it is stored
	}
	return measure(kinds[k], length)
}

func measure(k Kind, length time.Duration) (c Count, err error) {
	// A collection would be in some samples and not in others, and would wait for a thread
	// that waits in a system call.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	do, err := k.begin()
	var batch, took time.Duration
	var each []float64 // of the measured batches
	timed := func(n int) {
		start := time.Now()
		err = do(n)
		batch, c.Calls = time.Since(start), c.Calls+n
	}
	// The first batches find out how many calls are one. Their times do not count, and one that
	// was long is made again: something else may have run on the core. Hand-overs come in pairs.
	long := func(n int) bool { timed(n); return err != nil || batch >= length/batches }
	n := 2
	for !long(n) || err == nil && !long(n) {
		n *= 2
	}
	for err == nil && (took < length || took == 0) {
		timed(n)
		took, each = took+batch, append(each, float64(batch.Nanoseconds())/float64(n))
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", k.Name, err)
	}
	// The median leaves out batches in which something else ran on the core.
	slices.Sort(each)
	c.Nanoseconds = each[len(each)/2]
	return c, nil
}

// Run is the mode of the agent: it prepares files in the current directory, answers at an
// address, or measures a kind for so many milliseconds, one of exchanges with an address.
func Run(args []string, out io.Writer) error {
	switch {
	case slices.Equal(args, []string{"prepare"}):
		return errors.Join(prepareProgram(), prepareFiles())
	case len(args) == 2 && args[0] == "answer":
		return Answer(args[1])
	case len(args) != 2 && len(args) != 3:
		return fmt.Errorf("call takes prepare, answer and an address, or a kind and milliseconds, not %q", args)
	}
	length, err := strconv.ParseFloat(args[1], 64)
	if err != nil || !(length > 0) || length > 1e6 {
		return fmt.Errorf("%q is not a number of milliseconds above 0, and at most 1e6", args[1])
	}
	var c Count
	if long := time.Duration(length * 1e6); len(args) == 3 {
		c, err = Ask(args[0], long, args[2])
	} else {
		c, err = Measure(args[0], long)
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "calls %d\nnanoseconds %.3f\n", c.Calls, c.Nanoseconds)
	}
	return err
}

// loop makes a function that repeats one call.
func loop(one func() error) (func(int) error, error) {
	return func(n int) error {
		for range n {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// raw makes a system call without telling Go's scheduler, which costs time itself, and again
// where a signal of the scheduler interrupts it. What its arguments point to must not be on a
// stack, which can move.
//
//go:uintptrescapes
func raw(number, a, b, c uintptr) (uintptr, error) {
	return raw5(number, a, b, c, 0, 0)
}

// raw5 is raw with five arguments; a sixth one is 0.
//
//go:uintptrescapes
func raw5(number, a, b, c, d, e uintptr) (uintptr, error) {
	for {
		got, errno := system(number, a, b, c, d, e, 0)
		switch unix.Errno(errno) {
		case 0:
			return got, nil
		case unix.EINTR:
		default:
			return 0, unix.Errno(errno)
		}
	}
}

func nothing() (func(int) error, error) {
	return loop(func() error { return nil })
}

// computed keeps what compute computes.
var computed uint64

// compute is arithmetic of about a microsecond, of which each step needs the one before
// (xorshift64, Marsaglia 2003), on 4 kB of memory.
func compute() (func(int) error, error) {
	var table [512]uint64
	return loop(func() error {
		x := computed | 1
		for range 256 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			table[x%uint64(len(table))] += x
		}
		computed = x + table[x%uint64(len(table))]
		return nil
	})
}

func getpid() (func(int) error, error) {
	return loop(func() error { _, err := raw(unix.SYS_GETPID, 0, 0, 0); return err })
}

// trap is getpid as Go's wrappers make it, with the number of the call in a register.
func trap() (func(int) error, error) {
	return loop(func() error {
		if _, _, errno := unix.RawSyscall6(unix.SYS_GETPID, 0, 0, 0, 0, 0, 0); errno != 0 {
			return errno
		}
		return nil
	})
}

// clock reads the clock as programs do: in user mode, where the environment allows it.
func clock() (func(int) error, error) {
	return loop(func() error { _ = time.Now(); return nil })
}
