package usage

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"tare/internal/linux/procfile"
)

// ticks is USER_HZ, the unit of CPU times in /proc: 100 per second on every
// architecture that Go supports.
const ticks = 100

// process is one that is sampled. Its files stay open, so they refer to it even if
// its PID is reused.
type process struct {
	account
	pid          int
	role         string
	comm         string // the kernel's name of it
	name         string // comm, or argv[0] if comm is not a name
	nameReadings int    // how many more readings check it for an exec
	read         int    // number of the last reading of it, from 1
	unchanged    int    // number of the last reading that found that it had not run
	threads      float64
	kernel       bool    // a kernel thread
	memory       float64 // bytes, without mapped files

	stat, io, status *procfile.File
	ran              uint64          // CPU time at the last reading of switches, for comparison only
	switched         *threadSwitches // without taskstats
	first            amounts         // own, at the first reading
	tasks            map[int]float64 // CPU time of its threads then
}

// procReader reads processes.
type procReader struct {
	proc   string // /proc
	buffer []byte
	tasks  *taskstats // nil if not available
	totals *procfile.File
	cores  []int // whose stolen time counts apart; all where there are none
}

// nameReadings is how many readings check the name of a new process: a shell that
// starts a program executes it a moment later.
const nameReadings = 5

func (e *procReader) process(pid int, role string) (*process, bool) {
	directory := filepath.Join(e.proc, strconv.Itoa(pid))
	p := &process{pid: pid, role: role, nameReadings: nameReadings, stat: procfile.At(directory + "/stat"), io: procfile.At(directory + "/io"), status: procfile.At(directory + "/status")}
	if !e.readStat(p) {
		p.close()
		return nil, false
	}
	return p, true
}

func (p *process) close() {
	p.stat.Close()
	p.io.Close()
	p.status.Close()
}

// kernelThread is PF_KTHREAD.
const kernelThread = 0x00200000

// readStat reads the identity, CPU time and page faults of a process. It returns
// false if the process has exited.
func (e *procReader) readStat(p *process) bool {
	text, err := p.stat.Read(&e.buffer)
	if err != nil {
		return false
	}
	renamed := false
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return false
	}
	if name := text[open+1 : end]; string(name) != p.comm {
		p.comm = string(name)
		renamed = true
	}
	state, rest := procfile.Word(text[end+1:])
	var field [20]int64 // from ppid on
	for i := range field {
		var word []byte
		word, rest = procfile.Word(rest)
		field[i], _ = procfile.Number(word)
	}
	p.parent, p.kernel = int(field[0]), field[5]&kernelThread != 0
	p.own[minorFaults], p.inherited[minorFaults] = float64(field[6]), float64(field[7])
	p.own[majorFaults], p.inherited[majorFaults] = float64(field[8]), float64(field[9])
	p.own[cpuUser], p.own[cpuSystem] = float64(field[10])/ticks, float64(field[11])/ticks
	p.inherited[cpuUser], p.inherited[cpuSystem] = float64(field[12])/ticks, float64(field[13])/ticks
	p.threads, p.started = float64(field[16]), uint64(field[18])
	if renamed {
		p.name = e.nameOf(p)
	}
	// A zombie counts until its parent waits for it.
	return len(state) == 1 && state[0] != 'X' && state[0] != 'x'
}

// nameOf returns the kernel's name of a process, or the base of its argv[0] if it
// was executed from a file descriptor, which gives it a number for a name.
func (e *procReader) nameOf(p *process) string {
	if _, err := strconv.Atoi(p.comm); err != nil && p.comm != "exe" {
		return p.comm
	}
	words, _ := os.ReadFile(filepath.Join(e.proc, strconv.Itoa(p.pid), "cmdline"))
	word, _, _ := bytes.Cut(words, []byte{0})
	if len(word) == 0 {
		return p.comm
	}
	return filepath.Base(string(word))
}

// readTasks reads the CPU time of the threads whose name differs from that of
// their process.
func (e *procReader) readTasks(p *process, visit func(tid int, comm string, cpu float64)) {
	// With more threads than this, the time of each says little.
	const maxThreads = 256
	if p.threads < 2 || p.threads > maxThreads {
		return
	}
	directory := filepath.Join(e.proc, strconv.Itoa(p.pid), "task")
	for _, tid := range numericEntries(directory) {
		t := &process{pid: tid, stat: procfile.At(filepath.Join(directory, strconv.Itoa(tid), "stat"))}
		t.comm = p.comm // avoids reading its command line
		if e.readStat(t) && t.comm != p.comm {
			visit(tid, t.comm, t.own[cpuUser]+t.own[cpuSystem])
		}
		t.stat.Close()
	}
}

// readIO reads the bytes that a process read from and wrote to disks.
func (e *procReader) readIO(p *process) bool {
	text, err := p.io.Read(&e.buffer)
	if err != nil {
		return false
	}
	for key, value := range procfile.Pairs(text) {
		switch string(key) {
		case "read_bytes":
			p.own[diskRead] = float64(value)
		case "write_bytes":
			p.own[diskWritten] = float64(value)
		}
	}
	return true
}

// readStatus reads the memory of a process.
func (e *procReader) readStatus(p *process) {
	p.memory = 0 // if it has exited
	text, err := p.status.Read(&e.buffer)
	if err != nil {
		return
	}
	for key, value := range procfile.Pairs(text) {
		switch string(key) {
		case "RssAnon", "RssShmem":
			p.memory += float64(value) * 1024
		}
	}
}

// readSwitches reads the context switches of a process with all its threads. ran
// is false if none of them has run since the last reading, so that the rest of
// the process need not be read.
func (e *procReader) readSwitches(p *process) (ran, known bool) {
	if e.tasks == nil {
		if p.switched == nil {
			p.switched = &threadSwitches{known: map[int]float64{}}
		}
		n, ok := p.switched.update(e, p.pid)
		if ok {
			p.own[switches] = n
		}
		return true, ok
	}
	n, time, err := e.tasks.switches(p.pid)
	if err != nil {
		return true, false
	}
	// A kernel that does not report the time of whole processes gives 0.
	noTime := time == 0 && p.own[cpuUser]+p.own[cpuSystem] > 0
	ran = n != p.own[switches] || time != p.ran || noTime
	p.own[switches], p.ran = n, time
	return ran, true
}

// threadSwitches adds up the switches of a process's threads. Those between the
// last reading of a thread and its exit are lost.
type threadSwitches struct {
	known  map[int]float64
	exited float64
}

func (b *threadSwitches) update(e *procReader, pid int) (sum float64, ok bool) {
	tasks := filepath.Join(e.proc, strconv.Itoa(pid), "task")
	now := map[int]float64{}
	for _, tid := range numericEntries(tasks) {
		status := procfile.At(filepath.Join(tasks, strconv.Itoa(tid), "status"))
		text, err := status.Read(&e.buffer)
		if err != nil {
			continue
		}
		for key, value := range procfile.Pairs(text) {
			switch string(key) {
			case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
				now[tid] += float64(value)
				ok = true
			}
		}
		status.Close()
	}
	for tid, last := range b.known {
		if n, lives := now[tid]; !lives || n < last {
			b.exited += last
		}
	}
	b.known, sum = now, b.exited
	for _, n := range now {
		sum += n
	}
	return sum, ok
}

// numericEntries lists the entries of a directory that are numbers.
func numericEntries(directory string) (list []int) {
	dir, err := os.Open(directory)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// children lists the living children of a process and its threads. It lists none
// on a kernel without /proc/PID/task/TID/children.
func (e *procReader) children(pid int) (list []int) {
	tasks := filepath.Join(e.proc, strconv.Itoa(pid), "task")
	for _, thread := range numericEntries(tasks) {
		file := procfile.At(filepath.Join(tasks, strconv.Itoa(thread), "children"))
		text, err := file.Read(&e.buffer)
		for err == nil && len(text) > 0 {
			var word []byte
			word, text = procfile.Word(text)
			if child, ok := procfile.Number(word); ok {
				list = append(list, int(child))
			}
		}
		file.Close()
	}
	return list
}
