// Package fingerprint takes the fingerprint of an instance in which a workload's
// servers are up: it asks the agent inside, in one go, for what the kernel shows
// there, reads outside what only the host and the provider know, and says what
// both mean, as facts by the keys of package parity.
//
// What differs between two starts of one environment (numbers of processes,
// addresses, names of instances) is replaced, so that two fingerprints of it are
// equal. It must not know which difference is fair, nor how trials are made.
package fingerprint

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/observe"
	"tare/internal/environment"
	"tare/internal/parity"
)

// Subject is an instance, and what of a workload is in it.
type Subject struct {
	Instance environment.Instance
	Env      []string  // that the workload's commands run with
	Servers  []Server  // the first is "the server" of the facts
	Drivers  []Driver  // programs that will run
	Paths    []string  // that the workload touches
	Files    []File    // its configuration
	Address  string    // at which servers listen; "" is the loopback
	Replaced []Replace // in all texts
}

// Server is one that runs.
type Server struct {
	Name string // server, or database.2
	Role string
	PID  int // of what the agent started
}

// Driver is a command that will run.
type Driver struct {
	Role  string
	Words []string // of the command; a shell's are found in its text
}

// File is one of the workload's configuration.
type File struct{ Role, Path string }

// Replace is a text that differs from instance to instance, and the word for it.
type Replace struct{ Text, By string }

// timeout with one fingerprint: software emulation is slow.
const timeout = 2 * time.Minute

// Facts are what was found out.
func Facts(ctx context.Context, s Subject) (map[string]parity.Fact, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := ask(ctx, s)
	if err != nil {
		return nil, err
	}
	outer := outside(s.Instance)
	if answer.Filter.ChainsError != "" {
		outer.Filter = filterOf(s.Instance, answer.Filter.Namespace)
	}
	return Read(s, answer, outer), nil
}

// ask has the agent's program look, as a command of the agent: what it sees is
// what any command of a workload sees.
func ask(ctx context.Context, s Subject) (*observe.Answer, error) {
	a := s.Instance.Agent()
	request, err := json.Marshal(s.request())
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	exit, err := a.Run(ctx, agent.Command{
		// Resolved by the child of the agent itself: once the agent has started a
		// command as another user, its own /proc entry is closed to others.
		Argv: []string{"/proc/self/exe", "fingerprint"}, Env: s.Env,
		Stdin: bytes.NewReader(request), Stdout: &out, Stderr: &errs,
	})
	if err != nil {
		return nil, fmt.Errorf("observing the instance from inside: %w", err)
	}
	answer := &observe.Answer{}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil || !exit.OK() {
		return nil, fmt.Errorf("observing the instance from inside: the agent's second process (tare-agent fingerprint) exited with status %d %s and printed %.300q", exit.Code, exit.Signal, errs.String())
	}
	return answer, nil
}

// self is the process that looks: it stands for any command of the agent.
const self = "a command"

func (s Subject) request() observe.Request {
	r := observe.Request{Texts: texts(), Locations: append([]string{"/", "/data", "/tmp"}, s.paths()...), Processes: map[string]int{}}
	for _, f := range s.Files {
		r.Texts = append(r.Texts, f.Path)
	}
	for _, server := range s.Servers {
		r.Processes[server.Name] = server.PID
	}
	if len(s.Servers) == 0 {
		r.Processes[self] = 0
	}
	for _, d := range s.Drivers {
		r.Programs = append(r.Programs, Programs(d.Words)...)
	}
	return r
}

// paths that the workload touches, without devices such as /dev/stdout.
func (s Subject) paths() (list []string) {
	for _, p := range s.Paths {
		if strings.HasPrefix(p, "/dev/shm") || !strings.HasPrefix(p, "/dev/") {
			list = append(list, p)
		}
	}
	return list
}

// reading is the work on one subject's facts.
type reading struct {
	Subject
	*observe.Answer
	outer Outside
	facts map[string]parity.Fact
	mounts
}

// Read says what an answer means. Outside is what was seen from there.
func Read(s Subject, answer *observe.Answer, outer Outside) map[string]parity.Fact {
	r := &reading{Subject: s, Answer: answer, outer: outer, facts: map[string]parity.Fact{}}
	r.Replaced = append([]Replace(nil), r.Replaced...)
	r.outer.Shared = r.sharesKernel()
	if node := answer.System.Node; drawn.MatchString(node) {
		r.Replaced = append(r.Replaced, Replace{node, parity.Instance})
	}
	r.mounts = parseMounts(answer.Texts[mountinfoFile])
	r.system()
	r.limits()
	r.process()
	r.places()
	r.network()
	r.filter()
	r.programs()
	r.configuration()
	for key, value := range outer.Provider {
		r.outside(key, value)
	}
	return r.facts
}

// fact with its instance's names replaced.
func (r *reading) fact(key, value, seen string) {
	r.facts[key] = parity.Fact{Value: r.plain(value), Seen: seen}
}

// sum is a checksum, in which nothing is replaced.
func (r *reading) sum(key, value string) {
	r.facts[key] = parity.Fact{Value: value, Seen: parity.Inside}
}

func (r *reading) inside(key, value string)  { r.fact(key, value, parity.Inside) }
func (r *reading) outside(key, value string) { r.fact(key, value, parity.Outside) }

// missing says why a fact is not there.
func (r *reading) missing(key, seen, format string, values ...any) {
	r.facts[key] = parity.Fact{Missing: r.plain(fmt.Sprintf(format, values...)), Seen: seen}
}

// text is a file's, from inside, as one fact.
func (r *reading) text(key, path string) {
	if text, ok := r.Texts[path]; ok {
		r.inside(key, strings.Join(strings.Fields(text), " "))
		return
	}
	r.missing(key, parity.Inside, "%s: %s", path, r.why(path))
}

func (r *reading) why(what string) string {
	if why := r.Absent[what]; why != "" {
		return why
	}
	return "not there"
}

// Merge adds the facts of another instance of the workload. What is told by the
// role goes beside the first's; the rest is marked with the role.
func Merge(into, other map[string]parity.Fact, role string, own bool) {
	for key, fact := range maps.All(other) {
		switch {
		case parity.ByRole(key):
			if _, there := into[key]; !there {
				into[key] = fact
			}
		case own:
			into[parity.At(key, role)] = fact
		}
	}
}
