// Package fingerprint takes the fingerprint of an instance in which a workload's
// servers are running: the agent reads, in one request, what the kernel shows
// inside; the rest comes from the host and the provider. Both become facts with
// the keys of package parity.
//
// Values that differ between two starts of one environment (process IDs,
// addresses, names of instances) are replaced, so that its fingerprints are equal.
// It must not know which difference is fair, nor how trials are run.
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
	"tare/internal/base/bounded"
	"tare/internal/environment"
	"tare/internal/parity"
)

// Subject is an instance, and the parts of a workload that run in it.
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

// Server is a running server.
type Server struct {
	Name string // server, or database.2
	Role string
	PID  int // of what the agent started
}

// Driver is a command of the load driver.
type Driver struct {
	Role  string
	Words []string // of the command; a shell's are found in its text
}

// File is a configuration file of the workload.
type File struct{ Role, Path string }

// Replace is a text that differs between instances, and its replacement.
type Replace struct{ Text, By string }

// timeout with one fingerprint: software emulation is slow.
const timeout = 2 * time.Minute

// Facts are the collected facts.
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

// ask runs the agent's program as a command of the agent, so that it sees what any
// command of a workload sees.
func ask(ctx context.Context, s Subject) (*observe.Answer, error) {
	a := s.Instance.Agent()
	request, err := json.Marshal(s.request())
	if err != nil {
		return nil, err
	}
	out, errs := bounded.Buffer{Limit: bounded.Line}, bounded.Buffer{Limit: bounded.Line}
	exit, err := a.Run(ctx, agent.Command{
		// Resolved by the child of the agent: once the agent has started a command
		// as another user, its own /proc entry is unreadable to others.
		Argv: []string{"/proc/self/exe", "fingerprint"}, Env: s.Env,
		Stdin: bytes.NewReader(request), Stdout: &out, Stderr: &errs,
	})
	if err != nil {
		return nil, fmt.Errorf("observing the instance from inside: %w", err)
	}
	answer := &observe.Answer{}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil || !exit.OK() {
		return nil, fmt.Errorf("observing the instance from inside: the agent's second process (tare-agent fingerprint) exited with status %d %s and printed %.300q", exit.Code, exit.Signal, errs.Bytes())
	}
	return answer, nil
}

// self is the process that reads: it represents any command of the agent.
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

// paths that the workload uses, without devices such as /dev/stdout.
func (s Subject) paths() (list []string) {
	for _, p := range s.Paths {
		if strings.HasPrefix(p, "/dev/shm") || !strings.HasPrefix(p, "/dev/") {
			list = append(list, p)
		}
	}
	return list
}

// reading collects the facts of one subject.
type reading struct {
	Subject
	*observe.Answer
	outer Outside
	facts map[string]parity.Fact
	mounts
}

// Read turns the agent's answer and the facts from outside into facts.
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
	r.closing()
	r.network()
	r.filter()
	r.programs()
	r.configuration()
	for key, value := range outer.Provider {
		r.outside(key, value)
	}
	for key, reason := range outer.Unknown {
		r.missing(key, parity.Outside, "%s", reason)
	}
	return r.facts
}

// fact adds a fact with the instance's names replaced.
func (r *reading) fact(key, value, seen string) {
	r.facts[key] = parity.Fact{Value: r.plain(value), Seen: seen}
}

// sum adds a checksum, in which nothing is replaced.
func (r *reading) sum(key, value string) {
	r.facts[key] = parity.Fact{Value: value, Seen: parity.Inside}
}

func (r *reading) inside(key, value string)  { r.fact(key, value, parity.Inside) }
func (r *reading) outside(key, value string) { r.fact(key, value, parity.Outside) }

// missing adds the reason why a fact is missing.
func (r *reading) missing(key, seen, format string, values ...any) {
	r.facts[key] = parity.Fact{Missing: r.plain(fmt.Sprintf(format, values...)), Seen: seen}
}

// text adds a file from inside as one fact.
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

// Merge adds the facts of another instance of the workload. Facts that have a role
// in their key are added as they are; the others get the role as a mark.
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
