package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

// Visit prepares the image of a plan as a run does, starts one instance of the baseline, on
// a network of its own if the environment has networks, and calls look with both, and with
// the plan's secrets as NAME=VALUE. Nothing is measured, and nothing is left.
func Visit(ctx context.Context, o Options, look func(context.Context, *image.Image, environment.Instance, []string) error) error {
	return within(ctx, o, func(o *cleanup.Owner) (string, error) { return o.Directory("visit") }, func(e *execution) error {
		defer e.secrets.GiveBack() // the run reads them too
		baseline := e.Plan.Baseline
		for _, remark := range foreign(e.Plan, []string{baseline}) {
			e.events(Event{Kind: Noted, Message: remark})
		}
		if err := e.prepareAll(ctx); err != nil {
			return err
		}
		img := e.images[""]
		e.say("%s: starting the image once", baseline)
		i, network, err := e.startVisited(ctx, img)
		if err == nil {
			i.Agent().MaskSecrets(e.secrets)
			err = look(ctx, img, i, e.secrets.Variables())
		}
		// Also after the end of the context.
		ending := context.WithoutCancel(ctx)
		if i != nil {
			err = errors.Join(err, i.Stop(ending))
		}
		if network != nil {
			err = errors.Join(err, network.Close(ending))
		}
		return err
	})
}

// startVisited starts an instance of the baseline. What it returns is to be ended, also
// after an error.
func (e *execution) startVisited(ctx context.Context, img *image.Image) (i environment.Instance, network environment.Network, err error) {
	name := e.Plan.Baseline
	in := e.prepared[name]
	if network, err = in.NewNetwork(ctx, e.owner, "visit"); err != nil {
		return nil, nil, fmt.Errorf("the network of %s: %w", name, err)
	}
	i, err = in.Start(ctx, environment.Request{
		Name: "visit", Owner: e.owner, Image: img, Limits: e.Plan.Environment(name).Limits, Console: io.Discard, Network: network, Node: e.placedOn(in),
	})
	if err != nil {
		return nil, network, fmt.Errorf("start %s: %w", name, err)
	}
	return i, network, nil
}
