package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/support/childprocess"
)

// instance is the agent in its root and cgroup.
type instance struct {
	*childprocess.Instance
	disk  string   // a directory on the disk of /data
	space *os.File // the network namespace; nil is the host's
}

// Start makes a root and a cgroup, and starts the agent in both.
func (n *native) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	made, err := childprocess.New(r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.Stop(context.WithoutCancel(ctx)))
		}
	}()
	i := &instance{Instance: made}
	i.Map(mapping())
	arguments, err := i.makeRoot(ctx, n.options, r)
	if err != nil {
		return nil, fmt.Errorf("making the root of native instance %s: %w", r.Name, err)
	}
	if err := i.wire(n.options, r); err != nil {
		return nil, fmt.Errorf("starting native instance %s: %w", r.Name, err)
	}
	joins, err := i.Limit(i.disk)
	if err != nil {
		return nil, err
	}
	for _, file := range joins {
		arguments = append(arguments, "--cgroup", file)
	}
	program, err := agent.WriteBinary(filepath.Join(r.Owner.Home(), "agent"))
	if err != nil {
		return nil, err
	}
	if err := i.Execute(ctx, exec.Command(program, arguments...), i.space); err != nil {
		return nil, err
	}
	return i, nil
}
