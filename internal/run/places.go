package run

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"

	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/trial"
	"tare/internal/workload"
)

// places are the spots of a plan that lie on hosts, or that must be reached from
// there: what checkPlaces has found and preparePlaces has made ready.
type places map[trial.Spot]trial.Place

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

// checkPlaces asks each host on which instances of an environment are wanted
// whether it works there. An environment that does not work everywhere is left
// out.
func (e *execution) checkPlaces(ctx context.Context, p study.Environment, facts *rundir.EnvironmentFacts) (bool, error) {
	_, apart := roleHosts(e.Plan)
	for _, name := range apart {
		if p.Inside != nil {
			facts.State = environment.Missing
			facts.Findings = append(facts.Findings, environment.Finding{State: environment.Missing, What: p.Name + " on host " + name,
				Reason: "it runs inside " + p.Inside.Name + ", and only machines that are started here can have others in them"})
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
		e.places[trial.Spot{Environment: p.Name, Host: name}] = trial.Place{Environment: env}
	}
	return true, nil
}

// checkRoleHosts asks each host on which roles run natively whether they can
// there, before anything is made or sent.
func (e *execution) checkRoleHosts(ctx context.Context) error {
	natively, apart := roleHosts(e.Plan)
	for _, p := range e.Plan.Environments {
		env := e.prepared[p.Name]
		if env == nil {
			// It may work on some of the hosts.
			maps.DeleteFunc(e.places, func(s trial.Spot, _ trial.Place) bool { return s.Environment == p.Name })
			continue
		}
		if p.Host != "" && onHost(e.Plan) {
			natively = append(natively, p.Host)
		}
		if p.Host != "" || len(natively)+len(apart) > 0 {
			e.places[trial.Spot{Environment: p.Name, Host: p.Host}] = trial.Place{Environment: env}
		}
	}
	for _, name := range unique(natively) {
		spot := trial.Spot{Host: name}
		env, facts, err := e.checkOn(ctx, study.Environment{Name: hostKind, Kind: hostKind}, name)
		if err == nil && env == nil {
			err = fmt.Errorf("a role is placed on host %s, where it cannot run: %s", name, Why(facts))
		}
		if err != nil {
			return err
		}
		e.places[spot] = trial.Place{Environment: env}
	}
	return nil
}

// preparePlaces makes the image ready on all hosts, and finds out by which
// addresses they reach each other.
func (e *execution) preparePlaces(ctx context.Context, img *image.Image) error {
	if len(e.places) == 0 {
		return nil
	}
	if e.host != nil {
		e.places[trial.Spot{}] = trial.Place{Environment: e.host}
	}
	for spot, place := range e.places {
		if spot.Host != "" && place.Environment != e.prepared[spot.Environment] {
			if err := place.Environment.Prepare(ctx, img, func(line string) { e.say("host %s: %s", spot.Host, line) }); err != nil {
				return fmt.Errorf("prepare host %s: %w", spot.Host, err)
			}
		}
		place.Address = e.address(spot.Host)
		e.places[spot] = place
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
