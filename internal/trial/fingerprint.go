package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"tare/internal/parity"
	"tare/internal/parity/fingerprint"
	"tare/internal/rundir"
	"tare/internal/schedule"
	"tare/internal/study"
)

// Pair is an environment with a workload, of which there is one fingerprint.
type Pair struct{ Environment, Workload string }

// running is a server that was started.
type running struct {
	member *member
	role   string
	pid    int
}

// Fingerprint takes the fingerprint of an environment with a workload without a
// trial: it starts the instances, sets the workload up, starts its servers,
// looks, and takes all down again. The level "" is the workload's first. Where
// the environment cannot run the workload the error says why.
func (r *Runner) Fingerprint(ctx context.Context, environment, workload, level string) (f parity.Fingerprint, err error) {
	if level == "" {
		for _, w := range r.Plan.Workloads {
			if w.Name == workload && len(w.Levels) > 0 {
				level = w.Levels[0].Name
			}
		}
	}
	slot := schedule.Slot{Block: max(r.block, 1), Environment: environment, Workload: workload, Level: level, Fresh: "trial"}
	w, at, err := r.find(slot)
	if err != nil {
		return f, err
	}
	e := r.environment(environment)
	at.Parameters = e.Parameters(w.Name, at)
	if reason, known := w.Pack.KnownLimits[e.Kind]; known {
		return f, errors.New("known limit: " + reason)
	}
	shape := at.Shape
	use := leaseOf(slot, shape)
	if err := r.enter(slot, use); err != nil {
		return f, err
	}
	instances, err := r.instances(ctx, slot, use, shape, false)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, r.release(use)) }()
	m := measurement{runner: r, trial: &rundir.Trial{Environment: environment, Workload: workload, Level: level}, held: instances}
	if m.parts, err = m.play("copy", w.Name, w.Pack, at.Parameters, instances.copies[:1]); err != nil {
		return f, err
	}
	p := m.parts[0]
	p.number = 0
	defer func() { err = errors.Join(err, p.leave(ctx)) }()
	if !w.Pack.Startup {
		if err := p.serveAll(ctx); err != nil {
			return f, err
		}
	}
	return p.fingerprint(ctx)
}

// look takes the fingerprint of the first copy, once for each environment and
// workload in a run: in the first trial at the workload's first level, since the
// command lines say the level. One that fails is a finding.
func (m *measurement) look(ctx context.Context, w *study.Workload, level study.Level) {
	r := m.runner
	pair := Pair{m.trial.Environment, m.trial.Workload}
	if r.KeepFingerprint == nil || r.Fingerprinted[pair] || level.Name != w.Levels[0].Name || len(m.parts) == 0 {
		return
	}
	f, err := m.parts[0].fingerprint(ctx)
	if err == nil {
		err = r.KeepFingerprint(f)
	}
	if err != nil {
		m.warn("no fingerprint of the environment was taken: " + err.Error())
		return
	}
	if r.Fingerprinted == nil {
		r.Fingerprinted = map[Pair]bool{}
	}
	r.Fingerprinted[pair] = true
}

// lookAtStarted is look for a workload that is the start itself.
func (r *Runner) lookAtStarted(ctx context.Context, t *rundir.Trial, w *study.Workload, level study.Level, h *held) {
	m := measurement{runner: r, trial: t, held: h}
	var err error
	if m.parts, err = m.play("copy", w.Name, w.Pack, level.Parameters, h.copies[:1]); err != nil {
		m.warn("no fingerprint of the environment was taken: " + err.Error())
		return
	}
	m.look(ctx, w, level)
}

// fingerprint of the instances that play in the copy. The facts are of the
// instance that the first server runs in (the driver's where there is none).
// Each further role in an instance of its own has its facts beside them, marked
// with @ROLE. A role on the host is no part of the environment: of it only
// programs, commands and configuration count.
func (p *part) fingerprint(ctx context.Context) (parity.Fingerprint, error) {
	began := time.Now()
	f := parity.Fingerprint{Environment: p.trial.Environment, Workload: p.trial.Workload}
	pack := p.pack()
	first := p.cast.members()[0]
	if len(p.running) > 0 {
		first = p.running[0].member
	} else if pack.Driver != nil {
		first = p.driver()
	}
	var err error
	if f.Facts, err = fingerprint.Facts(ctx, p.subject(first)); err != nil {
		return f, err
	}
	for _, role := range pack.RoleNames() {
		other := p.cast.of(role)[0]
		if other == first || other == p.cast.together {
			continue
		}
		facts, err := fingerprint.Facts(ctx, p.subject(other))
		if err != nil {
			return f, fmt.Errorf("role %s: %w", role, err)
		}
		fingerprint.Merge(f.Facts, facts, role, !other.onHost)
	}
	if together := p.cast.together; together != nil && together != first {
		facts, err := fingerprint.Facts(ctx, p.subject(together))
		if err != nil {
			return f, err
		}
		fingerprint.Merge(f.Facts, facts, "together", true)
	}
	f.Seconds = time.Since(began).Seconds()
	return f, nil
}

// subject is what of the workload is in one instance.
func (p *part) subject(m *member) fingerprint.Subject {
	pack := p.packs[m]
	s := fingerprint.Subject{
		Instance: m.Instance, Env: p.runner.Image.Env,
		Replaced: []fingerprint.Replace{{Text: m.name, By: parity.Instance}, {Text: m.Address(), By: parity.Address}},
	}
	plays := func(role string) bool { return slices.Contains(p.cast.of(role), m) }
	seen := map[string]int{}
	for _, r := range p.running {
		if r.member != m {
			continue
		}
		role := cmp.Or(r.role, "server")
		name := role
		if seen[role]++; seen[role] > 1 {
			name += "." + strconv.Itoa(seen[role])
		}
		s.Servers = append(s.Servers, fingerprint.Server{Name: name, Role: role, PID: r.pid})
	}
	if d := pack.Driver; d != nil && plays(d.Role) {
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
	spot := p.cast.spot(m, p.held.network, pack.RoleNames())
	s.Address = spot.Address
	for role, addresses := range spot.Roles {
		for n, address := range addresses {
			by := "${address." + role + "}"
			if n > 0 {
				by = "${address." + role + "." + strconv.Itoa(n+1) + "}"
			}
			if address != s.Address {
				s.Replaced = append(s.Replaced, fingerprint.Replace{Text: address, By: by})
			}
		}
	}
	slices.SortFunc(s.Replaced, func(a, b fingerprint.Replace) int { return cmp.Compare(a.Text+a.By, b.Text+b.By) })
	return s
}

// rawFile is where an output is kept, if anybody keeps it.
func (r *Runner) rawFile(t rundir.Trial, name string) *rundir.RawFile {
	if r.Keep == nil {
		return rundir.Discard(name)
	}
	return r.Keep(t, name)
}

// consoleOf is where an instance's console is kept, if anybody keeps it.
func (r *Runner) consoleOf(instance string) (io.WriteCloser, error) {
	if r.Console == nil {
		return nobody{io.Discard}, nil
	}
	return r.Console(instance)
}

type nobody struct{ io.Writer }

func (nobody) Close() error { return nil }
