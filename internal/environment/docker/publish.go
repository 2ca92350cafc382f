package docker

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"github.com/moby/moby/api/types/container"
	wire "github.com/moby/moby/api/types/network"

	"tare/internal/sample"
)

// mostPorts is how many one instance may publish: Docker starts a process, or
// two, for each.
const mostPorts = 100

// ports are the published ones, one by one.
func (o *Options) ports() (list []wire.Port, err error) {
	for _, text := range o.Ports {
		some, err := wire.ParsePortRange(text)
		if err != nil || some.Proto() != wire.TCP {
			return nil, fmt.Errorf("ports: %q is no TCP port: write 6379, or 7000-7010 for several", text)
		}
		for port := range some.All() {
			if port.Num() == 0 || slices.Contains(list, port) {
				return nil, fmt.Errorf("ports: %s stands there twice, or is no port", port)
			}
			if list = append(list, port); len(list) > mostPorts {
				return nil, fmt.Errorf("ports: they are more than %d, and an engine may start a process for each", mostPorts)
			}
		}
	}
	if o.Network == "publish" && len(list) == 0 {
		return nil, errors.New("ports: network: publish needs the ports that the workload's servers listen at, such as ports: [6379]")
	}
	if o.Network != "publish" && len(list) > 0 {
		return nil, fmt.Errorf("ports: they are published with network: publish only, and it is %s", o.Network)
	}
	return list, nil
}

// publish puts the ports at an address of the host.
func (o *Options) publish(at netip.Addr, config *container.Config, host *container.HostConfig) {
	ports, _ := o.ports() // valid since New
	config.ExposedPorts, host.PortBindings = wire.PortSet{}, wire.PortMap{}
	for _, p := range ports {
		config.ExposedPorts[p] = struct{}{}
		host.PortBindings[p] = []wire.PortBinding{{HostIP: at, HostPort: strconv.Itoa(int(p.Num()))}}
	}
}

// proxies are Docker's processes that pass on what the packet filter does not
// translate: from the loopback, and from the container's own bridge.
func proxies(address string) (list []sample.Process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		words := commandLine(pid)
		if at := slices.Index(words, "-host-ip"); at >= 0 && at+1 < len(words) && words[at+1] == address {
			list = append(list, sample.Process{PID: pid, Role: "docker-proxy"})
		}
	}
	return list
}
