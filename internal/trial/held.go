package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/sample"
	"tare/internal/schedule"
	"tare/internal/study"
)

// held are the instances of a lease, which later trials may use.
type held struct {
	members    []*member
	copies     []cast
	neighbours []cast
	network    environment.Network // nil where nothing is to be reached
	block      int
	phases     []environment.Phase // of a single instance, until its first trial has taken them
	starts     []time.Duration     // what the start of each copy's first instance took
	room       sample.Figure       // what memory the host had available before
	paths      *environment.Paths  // of the first instance, until a trial has taken them
	fresh      bool                // no trial has used it yet
	notes      []string
	release    context.CancelFunc // of the starts' context
}

// measured are the members whose cost is the environment's: all but the
// neighbours.
func (h *held) measured() (list []*member) {
	for _, c := range h.copies {
		list = append(list, c.members()...)
	}
	return list
}

func (h *held) gone() bool {
	for _, m := range h.members {
		select {
		case <-m.Agent().Done():
			return true
		default:
		}
	}
	return false
}

// noNetwork says that what the workload needs cannot be had in an environment,
// which is a limit of it and no failure.
type noNetwork struct{ reason string }

func (e *noNetwork) Error() string { return e.reason }

// start starts all instances that a shape needs, at the same time.
func (r *Runner) start(ctx context.Context, slot schedule.Slot, s study.Shape, emptyCache bool) (_ *held, err error) {
	h := &held{block: slot.Block, fresh: true}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.stop())
		}
	}()
	if h.network, err = r.network(ctx, slot, s); err != nil {
		return nil, err
	}
	for range s.Copies {
		h.copies = append(h.copies, r.cast(h, slot, s))
	}
	if beside := s.Neighbours; beside != nil {
		for range beside.Copies {
			h.neighbours = append(h.neighbours, r.cast(h, slot, *beside))
		}
	}
	if emptyCache {
		if err := dropCaches(); err != nil {
			return nil, err
		}
	}
	h.room = sample.AvailableMemory()
	if err := r.startAll(ctx, slot, h, s.Starting); err != nil {
		return nil, err
	}
	for _, c := range h.copies {
		h.starts = append(h.starts, environment.StartTime(c.members()[0].Phases()))
	}
	if s.Single() {
		h.phases = h.members[0].Phases()
	}
	for _, m := range h.measured() {
		if paths := m.Paths(); !m.onHost && h.paths == nil && paths != (environment.Paths{}) {
			h.paths = &paths
		}
	}
	for _, m := range h.members {
		for _, note := range m.Notes() {
			if !slices.Contains(h.notes, note) {
				h.notes = append(h.notes, note)
			}
		}
	}
	if h.network != nil && s.Meets() {
		h.notes = append(h.notes, "between its instances, and from the host: "+h.network.Path())
	}
	return h, nil
}

// startAll starts the members, so many at a time, all where most is 0. After the
// first that fails nothing more is begun, and what is under way is given up: the
// error says which it was.
func (r *Runner) startAll(ctx context.Context, slot schedule.Slot, h *held, most int) error {
	// Given back when the instances are stopped, as their starts may hold on to it.
	starting, giveUp := context.WithCancel(ctx)
	h.release = giveUp
	if most == 0 {
		most = len(h.members)
	}
	places := make(chan struct{}, most)
	var mu sync.Mutex
	var first error
	var all sync.WaitGroup
	for i, m := range h.members {
		places <- struct{}{}
		if starting.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-places }()
			err := r.startMember(starting, slot, m, h.network)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				if first = err; len(h.members) > 1 {
					first = fmt.Errorf("instance %d of %d (%s): %w", i+1, len(h.members), m.name, err)
				}
				giveUp()
			}
		})
	}
	all.Wait()
	if first == nil {
		first = ctx.Err()
	}
	return first
}

// cast names the members of one copy; nothing is started yet.
func (r *Runner) cast(h *held, slot schedule.Slot, s study.Shape) cast {
	name := func(environment string) string {
		r.starts++
		name := fmt.Sprintf("b%d-%s-%d", slot.Block, safe(environment), r.starts)
		if r.Session > 1 {
			name += fmt.Sprintf("-s%d", r.Session)
		}
		return name
	}
	c := cast{roles: map[string][]*member{}}
	if s.Together {
		c.together = &member{name: name(slot.Environment), index: 1, begun: map[string]bool{}}
		h.members = append(h.members, c.together)
	}
	for _, role := range s.Roles {
		where := slot.Environment
		if role.OnHost {
			where = "host"
		}
		for i := range role.Count {
			m := &member{name: name(where), onHost: role.OnHost, index: i + 1, begun: map[string]bool{}}
			if len(role.Hosts) > 0 {
				m.at = role.Hosts[i]
			}
			c.roles[role.Name] = append(c.roles[role.Name], m)
			h.members = append(h.members, m)
		}
	}
	return c
}

func (r *Runner) network(ctx context.Context, slot schedule.Slot, s study.Shape) (environment.Network, error) {
	if !s.Joined {
		return nil, nil
	}
	hosts := s.On(r.environment(slot.Environment).Host)
	if len(hosts) > 1 {
		return hostsNetwork{}, nil
	}
	in := r.Environments[slot.Environment]
	if place, placed := r.Places[Spot{slot.Environment, hosts[0]}]; placed {
		in = place.Environment
	}
	networked, able := in.(environment.Networked)
	if !able {
		if s.Meets() {
			return nil, &noNetwork{"its instances have no network between them, and the workload needs one"}
		}
		return nil, nil
	}
	r.starts++
	n, err := networked.NewNetwork(ctx, r.Owner, fmt.Sprintf("b%d-%s-%d", slot.Block, safe(slot.Environment), r.starts))
	if err != nil {
		return nil, fmt.Errorf("the network between instances: %w", err)
	}
	return n, nil
}

func (r *Runner) startMember(ctx context.Context, slot schedule.Slot, m *member, network environment.Network) error {
	in, limits := r.Environments[slot.Environment], r.environment(slot.Environment).Limits
	place, placed := r.Places[r.spotOf(slot.Environment, m)]
	if placed {
		in = place.Environment
	}
	if m.onHost {
		limits = environment.Limits{}
		if !placed {
			in = r.Host
		}
		if in == nil {
			return errors.New("the role on the host needs the native environment, which does not work here")
		}
	}
	_, spread := network.(hostsNetwork)
	if spread || m.onHost {
		network = nil
	}
	console, err := r.consoleOf(m.name)
	if err != nil {
		return &diskError{err}
	}
	instance, err := in.Start(ctx, environment.Request{
		Name: m.name, Owner: r.Owner, Image: r.Image, Limits: limits, Console: console, Network: network,
	})
	if errors.Is(err, environment.ErrOneAddress) {
		err = &noNetwork{"its instances would share one address, and the workload needs one for each: put its roles onto several hosts (hosts: and place:)"}
	}
	if err != nil {
		if hint := limits.Scarce(); hint != "" && ctx.Err() == nil && !errors.Is(err, environment.ErrMemoryIO) {
			err = fmt.Errorf("%w%s", err, hint)
		}
		return errors.Join(err, console.Close())
	}
	m.up = time.Now()
	m.Instance = instance // whatever comes now, it is stopped
	m.close = func() error { return console.Close() }
	m.complain = func(err error) { fmt.Fprintln(console, err) }
	if spread {
		if m.address, err = reachable(instance, place.Address); err != nil {
			return err
		}
	}
	if _, err := environment.CheckLimits(ctx, instance, limits); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	return nil
}

// stopLimit is how long an instance may take to end.
const stopLimit = 30 * time.Second

// stop ends all instances at the same time, and then their network.
func (h *held) stop() error {
	err := each(h.members, func(m *member) error {
		if m.Instance == nil {
			return nil // it never came about
		}
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		for _, end := range m.atEnd {
			if err := end(ctx); err != nil {
				m.complain(err)
			}
		}
		err := m.Stop(ctx)
		if err != nil {
			err = fmt.Errorf("stop of %s: %w", m.name, err)
		}
		return errors.Join(err, m.close())
	})
	if h.release != nil {
		h.release()
	}
	if h.network != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		err = errors.Join(err, h.network.Close(ctx))
	}
	return err
}

// each does something with all of a list at the same time, and returns when all
// is done. The errors are in the list's order.
func each[T any](list []T, do func(T) error) error {
	if len(list) == 1 {
		return do(list[0])
	}
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, one := range list {
		all.Go(func() { errs[i] = do(one) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// dropCaches empties the page cache of the host.
func dropCaches() error {
	unix.Sync() // only what is on the disk can be dropped
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		return fmt.Errorf("emptying the host's page cache: %w: it takes root, outside of containers", err)
	}
	return nil
}

func (r *Runner) environment(name string) study.Environment {
	for _, e := range r.Plan.Environments {
		if e.Name == name {
			return e
		}
	}
	return study.Environment{Name: name}
}
