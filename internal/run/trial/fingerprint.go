package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/base/lists"
	"tare/internal/parity"
	"tare/internal/parity/fingerprint"
	"tare/internal/run/schedule"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/subject"
	"tare/internal/workload"
)

// Pair is an environment with a workload, of which there is one fingerprint on each
// node; "" is the node of a run without nodes.
type Pair struct{ Environment, Workload, Node string }

// Fingerprints takes one fingerprint of each pair in a run.
type Fingerprints struct {
	mu    sync.Mutex
	keep  func(parity.Fingerprint) error
	taken map[Pair]bool // or being taken
}

// NewFingerprints gives fingerprints to keep, except of the pairs that have one.
func NewFingerprints(keep func(parity.Fingerprint) error, taken map[Pair]bool) *Fingerprints {
	f := &Fingerprints{keep: keep, taken: map[Pair]bool{}}
	maps.Copy(f.taken, taken)
	return f
}

// claim says whether a trial takes a fingerprint: the first one at the workload's first
// level, since command lines contain the level.
func (f *Fingerprints) claim(pair Pair, s spec) bool {
	if f == nil || s.level.Name != s.workload.Levels[0].Name {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.taken[pair]
	f.taken[pair] = true
	return !was
}

// store keeps a fingerprint; one that could not be taken may be taken by a later trial.
func (f *Fingerprints) store(pair Pair, print parity.Fingerprint, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err = f.keep(print)
	}
	f.taken[pair] = err == nil
	return err
}

// takeFingerprint takes the fingerprint of the first copy, once in a run. A
// failure is a warning.
func (p *participant) takeFingerprint(ctx context.Context, session *lifecycle.Workload) {
	pair, all := Pair{p.slot.Environment, p.slot.Workload, p.slot.Node}, p.run.Fingerprints
	if !all.claim(pair, p.spec) {
		return
	}
	print, err := fingerprintOf(ctx, pair, session.Copies()[0])
	if err := all.store(pair, print, err); err != nil {
		p.record.Warn("no fingerprint of the environment was taken: " + err.Error())
	}
}

// fingerprintStart takes the fingerprint of what a workload that measures starts has
// started, once in a run.
func (p *participant) fingerprintStart(ctx context.Context) {
	session, err := lifecycle.New(p.lifecycle(p.record))
	if err != nil {
		p.record.Warn("no fingerprint of the environment was taken: " + err.Error())
		return
	}
	p.takeFingerprint(ctx, session)
}

// Fingerprint takes the fingerprint of an environment with a workload without a
// trial: it starts the instances and the workload's servers, observes them, and
// stops all again. The level "" is the workload's first. Where the environment
// cannot run the workload the error says why.
func (r *Runner) Fingerprint(ctx context.Context, of subject.Cell) (print parity.Fingerprint, err error) {
	if w := r.plan.Workload(of.Workload); of.Level == "" && w != nil && len(w.Levels) > 0 {
		of.Level = w.Levels[0].Name
	}
	p, err := r.participant(schedule.Slot{
		Block: max(r.block, 1), Environment: of.Environment, Workload: of.Workload, Level: of.Level, Node: r.Instances.Node, Fresh: "trial",
	})
	if err != nil {
		return print, err
	}
	if p.skipped {
		return print, errors.New(p.trial.Reason)
	}
	p.spec.request.EmptyCache = false
	r.enterBlock(p.slot.Block)
	if err := r.pool.StopOthers(p.spec.request); err != nil {
		return print, err
	}
	if p.group, err = r.pool.Get(ctx, p.spec.request); err != nil {
		return print, err
	}
	defer func() { err = errors.Join(err, r.pool.Release(p.spec.request)) }()
	c := p.lifecycle(p.record)
	c.Copies, c.Neighbours = c.Copies[:1], nil
	session, err := lifecycle.New(c)
	if err != nil {
		return print, err
	}
	defer func() { err = errors.Join(err, session.Finish(ctx)) }()
	if !p.pack().Startup {
		if err := session.StartServers(ctx); err != nil {
			return print, err
		}
	}
	return fingerprintOf(ctx, Pair{of.Environment, of.Workload, r.Instances.Node}, session.Copies()[0])
}

// fingerprintOf the instances of a copy. The facts are of the instance that the
// first server runs in (the driver's where there is none). Facts of each further
// role in an instance of its own are marked with @ROLE. A role on the host is no
// part of the environment: of it only programs, commands and configuration count.
func fingerprintOf(ctx context.Context, pair Pair, c *lifecycle.Copy) (parity.Fingerprint, error) {
	began := time.Now()
	print := parity.Fingerprint{Environment: pair.Environment, Workload: pair.Workload, Node: pair.Node}
	together := c.Roles().Together()
	first := c.Roles().Instances()[0]
	if servers := c.Servers(); len(servers) > 0 {
		first = servers[0].Instance
	} else if driver := c.Driver(); driver != nil {
		first = driver
	}
	var err error
	if print.Facts, err = fingerprint.Facts(ctx, observed(c, first)); err != nil {
		return print, err
	}
	for _, role := range c.Pack(first).RoleNames() {
		other := c.Roles().Of(role)[0]
		if other == first || other == together {
			continue
		}
		facts, err := fingerprint.Facts(ctx, observed(c, other))
		if err != nil {
			return print, fmt.Errorf("role %s: %w", role, err)
		}
		fingerprint.Merge(print.Facts, facts, role, !other.OnHost)
	}
	if together != nil && together != first {
		facts, err := fingerprint.Facts(ctx, observed(c, together))
		if err != nil {
			return print, err
		}
		fingerprint.Merge(print.Facts, facts, "together", true)
	}
	print.Seconds = time.Since(began).Seconds()
	return print, nil
}

// observed is what of the workload is in one instance.
func observed(c *lifecycle.Copy, i *instances.Instance) fingerprint.Subject {
	pack := c.Pack(i)
	s := fingerprint.Subject{
		Instance: i.Instance, Env: i.Env(),
		Replaced: []fingerprint.Replace{{Text: i.Name, By: parity.Instance}, {Text: i.Address(), By: parity.Address}},
	}
	plays := func(role string) bool { return slices.Contains(c.Roles().Of(role), i) }
	s.Servers = serversIn(c, i)
	if d := c.DriverStep(); d != nil && plays(d.Role) {
		// Programs are found by the PATH of the command.
		s.Env = slices.Concat(s.Env, lists.Filter(d.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }))
		s.Drivers = append(s.Drivers, fingerprint.Driver{Role: cmp.Or(d.Role, "driver"), Words: d.CommandArgs()})
	}
	for _, at := range pack.Touches {
		if plays(at.Role) {
			s.Paths = append(s.Paths, at.Path)
		}
	}
	for _, at := range pack.Configuration {
		if plays(at.Role) {
			s.Files = append(s.Files, fingerprint.File{Role: cmp.Or(at.Role, "server"), Path: at.Path})
		}
	}
	s.Address, s.Replaced = addresses(c.Vars(i), s.Replaced)
	return s
}

// serversIn are the servers in one instance; the second of a role is ROLE.2.
func serversIn(c *lifecycle.Copy, i *instances.Instance) (servers []fingerprint.Server) {
	seen := map[string]int{}
	for _, server := range c.Servers() {
		if server.Instance != i {
			continue
		}
		role := cmp.Or(server.Role, "server")
		name := role
		if seen[role]++; seen[role] > 1 {
			name += "." + strconv.Itoa(seen[role])
		}
		servers = append(servers, fingerprint.Server{Name: name, Role: role, PID: server.PID})
	}
	return servers
}

// addresses adds those of the other instances to what is replaced by a name, so
// that two fingerprints can be compared.
func addresses(vars workload.InstanceVars, replaced []fingerprint.Replace) (own string, all []fingerprint.Replace) {
	for role, addresses := range vars.Roles {
		for n, address := range addresses {
			by := "${address." + role + "}"
			if n > 0 {
				by = "${address." + role + "." + strconv.Itoa(n+1) + "}"
			}
			if address != vars.Address {
				replaced = append(replaced, fingerprint.Replace{Text: address, By: by})
			}
		}
	}
	slices.SortFunc(replaced, func(a, b fingerprint.Replace) int { return cmp.Compare(a.Text+a.By, b.Text+b.By) })
	return vars.Address, replaced
}
