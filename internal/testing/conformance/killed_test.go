package conformance

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/kvm"
	"tare/internal/testing/localhost"
	"tare/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	localhost.ServeIfAsked()
	testenv.Main(m, map[string]testenv.Role{"hold": hold, "freeze": holdFrozen}, testenv.EngineConnections()...)
}

func hold(name, home string) (string, error) { return holdAn(name, home, false) }

func holdFrozen(name, home string) (string, error) { return holdAn(name, home, true) }

// holdAn starts an instance of a provider, on a network where there is one, with
// a command in it that does not want to end, and says its owner and its
// processes.
func holdAn(name, home string, frozen bool) (string, error) {
	ctx := context.Background()
	all := slices.Concat(providers, marked)
	n := slices.IndexFunc(all, func(p provider) bool { return p.name == name })
	env, img, err := all[n].environment(ctx, home)
	if err != nil {
		return "", err
	}
	o, err := cleanup.Open(home)
	if err != nil {
		return "", err
	}
	r := environment.Request{Name: "orphan", Owner: o, Image: img, Console: io.Discard}
	if r.Network, err = env.NewNetwork(ctx, o, "between"); err != nil {
		return "", err
	}
	i, err := env.Start(ctx, r)
	if err != nil {
		return "", err
	}
	const stubborn = "trap '' TERM HUP; setsid sleep 1000 & while :; do sleep 1; done"
	if _, err := i.Agent().Start(ctx, agent.Command{Argv: []string{"sh", "-c", stubborn}}); err != nil {
		return "", err
	}
	output := []string{o.ID()}
	for _, pid := range testenv.InstancePIDs(i) {
		output = append(output, strconv.Itoa(pid))
	}
	if frozen {
		if err := i.Details().Freezer.Freeze(ctx); err != nil {
			return "", err
		}
	}
	return strings.Join(output, " "), nil
}

func whatAKilledTareLeavesIsSwept(t *testing.T, s *scene) { s.killedTare(t, "hold") }

// killedTare kills a process with an instance, and sweeps what it leaves.
func (s *scene) killedTare(t *testing.T, role string) {
	t.Helper()
	words, kill := testenv.Again(t, role, s.name, s.home)
	var pids []int
	for _, word := range words[1:] {
		pids = append(pids, int(atoi(word)))
	}
	processes := testenv.Hold(t, pids...)
	kill()
	removed, err := cleanup.Sweep(t.Context(), s.home, environment.Sweepers()...)
	t.Logf("swept: %q", removed)
	if err != nil {
		t.Error(err)
	}
	for _, line := range processes.Running(time.Minute) {
		t.Error(line)
	}
	// The kernel clears the namespaces of dead processes at its leisure.
	var left []string
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = testenv.Left(t.Context(), s.home, words[0]); len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %q", left)
}

// environment makes a provider's environment, ready to start the small image.
func (p provider) environment(ctx context.Context, home string) (environment.Environment, *image.Image, error) {
	options, err := p.decode(home)
	if err != nil {
		return nil, nil, err
	}
	registration, _ := environment.Lookup(p.kind)
	env, err := registration.New(options)
	if err != nil {
		return nil, nil, err
	}
	img, err := testenv.Get(ctx, func(string) {})
	if err == nil {
		err = env.Prepare(ctx, img, func(string) {})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("preparing %s: %w", p.name, err)
	}
	return env, img, nil
}
