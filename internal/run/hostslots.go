package run

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"

	"tare/internal/environment"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// hostSlots are the environments of a plan on hosts of the study, or that are
// reached from there: checkHostSlots finds them, prepareHostSlots prepares them.
type hostSlots map[instances.HostSlot]instances.HostEnvironment

// roleHosts are the hosts of a plan on which roles run natively, and those on
// which instances of the environments do.
func roleHosts(plan *study.Plan) (natively, apart []string) {
	for _, w := range plan.Workloads {
		for _, role := range w.Pack.RoleNames() {
			r := w.Pack.Roles[role]
			if r.Place == workload.OnHost {
				natively = append(natively, r.Hosts...)
			} else {
				apart = append(apart, r.Hosts...)
			}
		}
	}
	return unique(natively), unique(apart)
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// checkHostSlots checks an environment on each host that has instances of it. An
// environment that does not work on all of them is left out.
func (e *execution) checkHostSlots(ctx context.Context, p study.Environment, facts *rundir.EnvironmentFacts) (bool, error) {
	_, apart := roleHosts(e.Plan)
	for _, name := range apart {
		if p.Inside != nil {
			facts.State = environment.Missing
			facts.Findings = append(facts.Findings, environment.Finding{State: environment.Missing, What: p.Name + " on host " + name,
				Reason: "it runs inside " + p.Inside.Name + ", and only instances that are started here can contain others"})
			return false, nil
		}
		env, there, err := e.checkOn(ctx, p, name)
		if err != nil {
			return false, err
		}
		facts.Findings = append(facts.Findings, there.Findings...)
		if env == nil {
			facts.State = environment.Missing
			return false, nil
		}
		e.slots[instances.HostSlot{Environment: p.Name, Host: name}] = instances.HostEnvironment{Environment: env}
	}
	return true, nil
}

// checkRoleHosts checks the native environment on each host that roles run on,
// before anything is made or sent.
func (e *execution) checkRoleHosts(ctx context.Context) error {
	natively, apart := roleHosts(e.Plan)
	if e.Plan.OnHosts() && onHost(e.Plan) {
		for _, node := range e.working() {
			_, beside := study.OfNode(node)
			natively = append(natively, beside)
		}
	}
	for _, p := range e.Plan.Environments {
		env := e.prepared[p.Name]
		if env == nil {
			// It may have worked on some of the hosts.
			maps.DeleteFunc(e.slots, func(s instances.HostSlot, _ instances.HostEnvironment) bool { return s.Environment == p.Name })
			continue
		}
		if e.Plan.OnHosts() {
			continue // checkOnNodes has them
		}
		if p.Host != "" && onHost(e.Plan) {
			natively = append(natively, p.Host)
		}
		if p.Host != "" || len(natively)+len(apart) > 0 {
			e.slots[instances.HostSlot{Environment: p.Name, Host: p.Host}] = instances.HostEnvironment{Environment: env}
		}
	}
	for _, name := range unique(natively) {
		slot := instances.HostSlot{Host: name}
		env, facts, err := e.checkOn(ctx, study.Environment{Name: hostKind, Kind: hostKind}, name)
		if err == nil && env == nil {
			err = fmt.Errorf("a role is placed on host %s, where it cannot run: %s", name, Why(facts))
		}
		if err != nil {
			return err
		}
		e.slots[slot] = instances.HostEnvironment{Environment: env}
	}
	return nil
}

// prepareHostSlots prepares the image on all hosts, and finds out by which
// addresses they reach each other.
func (e *execution) prepareHostSlots(ctx context.Context) error {
	if len(e.slots) == 0 {
		return nil
	}
	if e.host != nil {
		e.slots[instances.HostSlot{}] = instances.HostEnvironment{Environment: e.host}
	}
	for slot, on := range e.slots {
		if slot.Host != "" && on.Environment != e.prepared[slot.Environment] {
			if err := e.prepareImages(ctx, on.Environment, slices.Collect(maps.Keys(e.images)), slot.Environment == "", "host "+slot.Host); err != nil {
				err = fmt.Errorf("prepare host %s: %w", slot.Host, err)
				if ctx.Err() != nil || !e.goneWith(slot.Host, err) {
					return err
				}
				continue
			}
		}
		on.Address = e.address(slot.Host)
		e.slots[slot] = on
	}
	return nil
}

// address of a host by which the others reach it. This machine's is the one from
// which a packet to a host would come; "" where there is none.
func (e *execution) address(name string) string {
	if name != "" {
		if given := e.Plan.Hosts[name].Address; given != "" {
			return given
		}
		return e.hosts[name].host.Address()
	}
	for name, r := range e.hosts {
		if r.host == nil {
			continue
		}
		// Nothing is sent: the kernel only looks up its routes.
		conn, err := net.Dial("udp4", net.JoinHostPort(e.address(name), "9"))
		if err != nil {
			continue
		}
		defer conn.Close()
		return conn.LocalAddr().(*net.UDPAddr).IP.String()
	}
	return ""
}
