package sample

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"tare/internal/linux/procfile"
)

// ticks a second in which /proc counts CPU time: the kernel's interface fixes
// it on every architecture that Go runs on.
const ticks = 100

// process is one that is watched. Its files are kept open, so they stay its own
// when another process gets its number.
type process struct {
	account
	pid     int
	role    string
	comm    string // the kernel's name for it
	name    string // the same, or what it calls itself where that says nothing
	young   int    // looks in which it may still become another program
	read    int    // the look that read it last, from 1
	still   int    // the last look by which it had not run since the look before
	threads float64
	kernel  bool    // a thread of the kernel's
	held    float64 // bytes, without the files that it maps

	stat, io, status *procfile.File
	ran              uint64          // processor time of the last reading of switches, for comparison alone
	switched         *threadBook     // where the kernel does not tell of the whole process
	first            amounts         // own, when the watching began
	tasks            map[int]float64 // processor time of its threads then
}

// eyes are what processes are read with: buffers, and the kernel's statistics.
type eyes struct {
	proc   string // /proc
	buffer []byte
	tasks  *taskstats // nil where there is none
}

// youth is for how many looks a process is asked again who it is: a shell that
// starts a program becomes it a moment later.
const youth = 5

func (e *eyes) process(pid int, role string) (*process, bool) {
	folder := filepath.Join(e.proc, strconv.Itoa(pid))
	p := &process{pid: pid, role: role, young: youth, stat: procfile.At(folder + "/stat"), io: procfile.At(folder + "/io"), status: procfile.At(folder + "/status")}
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

// The kernel's flag of its own threads.
const kernelThread = 0x00200000

// readStat reads who a process is and what CPU time it has used; false where it
// has ended.
func (e *eyes) readStat(p *process) bool {
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
	var field [20]int64 // from the parent's number on
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
	// One that nobody has waited for yet holds its number and nothing else.
	return len(state) == 1 && state[0] != 'X' && state[0] != 'x'
}

// nameOf is the kernel's name for a process, but for one that was started from
// an open file: its own first word then, if it has any.
func (e *eyes) nameOf(p *process) string {
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

// readTasks reads the processor time of the threads that have another name than
// their process, by their numbers.
func (e *eyes) readTasks(p *process, visit func(tid int, comm string, cpu float64)) {
	// Of more than so many, what each one does says little.
	const most = 256
	if p.threads < 2 || p.threads > most {
		return
	}
	folder := filepath.Join(e.proc, strconv.Itoa(p.pid), "task")
	for _, tid := range numbers(folder) {
		t := &process{pid: tid, stat: procfile.At(filepath.Join(folder, strconv.Itoa(tid), "stat"))}
		t.comm = p.comm // so that nobody asks for its words
		if e.readStat(t) && t.comm != p.comm {
			visit(tid, t.comm, t.own[cpuUser]+t.own[cpuSystem])
		}
		t.stat.Close()
	}
}

// readIO reads the bytes that a process moved to and from disks.
func (e *eyes) readIO(p *process) bool {
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

// readStatus reads what a process holds.
func (e *eyes) readStatus(p *process) {
	p.held = 0 // of one that ended meanwhile
	text, err := p.status.Read(&e.buffer)
	if err != nil {
		return
	}
	for key, value := range procfile.Pairs(text) {
		switch string(key) {
		case "RssAnon", "RssShmem":
			p.held += float64(value) * 1024
		}
	}
}

// readSwitches reads the context switches of a process with all its threads. ran
// is false where it is certain that none of them has run since the last reading,
// so that nothing else of the process need be read again.
func (e *eyes) readSwitches(p *process) (ran, told bool) {
	if e.tasks == nil {
		if p.switched == nil {
			p.switched = &threadBook{known: map[int]float64{}}
		}
		n, ok := p.switched.look(e, p.pid)
		if ok {
			p.own[switches] = n
		}
		return true, ok
	}
	n, time, err := e.tasks.switches(p.pid)
	if err != nil {
		return true, false
	}
	// A kernel that does not tell the time of whole processes says 0.
	silent := time == 0 && p.own[cpuUser]+p.own[cpuSystem] > 0
	ran = n != p.own[switches] || time != p.ran || silent
	p.own[switches], p.ran = n, time
	return ran, true
}

// threadBook adds up the switches of a process's threads. What a thread did
// after the last look at it is lost with its end.
type threadBook struct {
	known map[int]float64
	ended float64
}

func (b *threadBook) look(e *eyes, pid int) (sum float64, ok bool) {
	tasks := filepath.Join(e.proc, strconv.Itoa(pid), "task")
	now := map[int]float64{}
	for _, tid := range numbers(tasks) {
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
			b.ended += last
		}
	}
	b.known, sum = now, b.ended
	for _, n := range now {
		sum += n
	}
	return sum, ok
}

// numbers are the entries of a folder that are numbers.
func numbers(folder string) (list []int) {
	dir, err := os.Open(folder)
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

// children lists the processes that a process and its threads have started and
// that still live. A kernel without the file gives none.
func (e *eyes) children(pid int) (list []int) {
	tasks := filepath.Join(e.proc, strconv.Itoa(pid), "task")
	for _, thread := range numbers(tasks) {
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
