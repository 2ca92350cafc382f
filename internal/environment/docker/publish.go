package docker

import (
	"errors"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	wire "github.com/moby/moby/api/types/network"

	"tare/internal/base/strictyaml"
	"tare/internal/linux/procfile"
	"tare/internal/linux/virtnet"
	"tare/internal/usage"
)

// mostPorts is how many ports an instance can publish: Docker starts one or two
// processes for each.
const mostPorts = 100

// ports are the published ones, one by one.
func (o *Options) ports() (list []wire.Port, err error) {
	var wrong []error
	for _, text := range o.Ports {
		if n := outOfRange(text); n != "" {
			wrong = append(wrong, strictyaml.AtKey("ports", "%s is not a port: the range is 1 to 65535", n))
			continue
		}
		some, err := wire.ParsePortRange(text)
		if err != nil || some.Proto() != wire.TCP {
			wrong = append(wrong, strictyaml.AtKey("ports", "%q is not a TCP port: write 13379, or 7000-7010 for several", text))
			continue
		}
		for port := range some.All() {
			if slices.Contains(list, port) {
				wrong = append(wrong, strictyaml.AtKey("ports", "%d is listed twice", port.Num()))
				continue
			}
			if list = append(list, port); len(list) > mostPorts {
				return nil, strictyaml.AtKey("ports", "more than %d, and an engine starts a process for each", mostPorts)
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if o.published() && len(list) == 0 {
		return nil, strictyaml.AtKey("ports", "network: %s needs the ports that the workload's servers listen at, such as ports: [13379]", o.Network)
	}
	if !o.published() && len(list) > 0 {
		return nil, strictyaml.AtKey("ports", "only network: publish and publish-loopback publish them, and network is %s", o.Network)
	}
	return list, nil
}

// published says whether ports are.
func (o *Options) published() bool { return o.Network == "publish" || o.onLoopback() }

// onLoopback says whether they are at the loopback, where Docker's packet filter translates
// nothing: its process docker-proxy passes each byte on, unless the daemon has none.
func (o *Options) onLoopback() bool { return o.Network == "publish-loopback" }

// publishedAddress is the address of the host that an instance's ports are published at.
type publishedAddress struct {
	io.Closer
	at netip.Addr
}

// newPublishedAddress takes or makes one.
func (o *Options) newPublishedAddress(owner string) (*publishedAddress, error) {
	if o.onLoopback() {
		a, err := virtnet.NewLoopbackAddress()
		if err != nil {
			return nil, err
		}
		return &publishedAddress{a, a.Address}, nil
	}
	a, err := virtnet.NewPublishedAddress(owner)
	if err != nil {
		return nil, err
	}
	return &publishedAddress{a, a.Address}, nil
}

// outOfRange is the first number of an entry that no port has.
func outOfRange(text string) string {
	for _, part := range strings.Split(text, "-") {
		if n, err := strconv.ParseUint(part, 10, 64); (err == nil || errors.Is(err, strconv.ErrRange)) && (n == 0 || n > 65535) {
			return part
		}
	}
	return ""
}

// publishes are the ports at which alone others reach an instance.
func (o *Options) publishes() (key string, ports []int) {
	if !o.published() {
		return "", nil
	}
	list, err := o.ports()
	if err != nil {
		return "", nil // Validate says so
	}
	for _, p := range list {
		ports = append(ports, int(p.Num()))
	}
	return "ports", ports
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

const proxyRole = "docker-proxy"

// proxies are Docker's processes that pass on what the packet filter does not
// translate: from the loopback, and from the container's own bridge.
func proxies(address string) (list []usage.Process) {
	for _, pid := range procfile.PIDs() {
		words := procfile.CommandLine(pid)
		if at := slices.Index(words, "-host-ip"); at >= 0 && at+1 < len(words) && words[at+1] == address {
			list = append(list, usage.Process{PID: pid, Role: proxyRole})
		}
	}
	return list
}
