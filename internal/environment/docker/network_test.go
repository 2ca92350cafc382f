package docker

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/linux/virtnet"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

func TestPortsAreReadOneByOne(t *testing.T) {
	for _, c := range []struct {
		network string
		ports   []string
		count   int
		want    string // part of the refusal
	}{
		{"publish", []string{"6379"}, 1, ""},
		{"publish", []string{"6379", "7000-7010"}, 12, ""},
		{"bridge", nil, 0, ""},
		{"publish", nil, 0, "such as ports: [13379]"},
		{"bridge", []string{"6379"}, 0, "only network: publish and publish-loopback publish them, and network is bridge"},
		{"publish-loopback", []string{"6379"}, 1, ""},
		{"publish-loopback", nil, 0, "network: publish-loopback needs the ports"},
		{"publish", []string{"redis"}, 0, `"redis" is not a TCP port`},
		{"publish", []string{"53/udp"}, 0, "is not a TCP port"},
		{"publish", []string{"80", "79-81"}, 0, "is listed twice"},
		{"publish", []string{"80", "80"}, 0, "ports: 80 is listed twice"},
		{"publish", []string{"0", "99999"}, 0, "ports: 0 is not a port: the range is 1 to 65535\nports: 99999 is not a port"},
		{"publish", []string{"1-70000"}, 0, "ports: 70000 is not a port"},
		{"publish", []string{"1000-1100"}, 0, "more than 100"},
	} {
		o := Options{Network: c.network, Ports: c.ports}
		got, err := o.ports()
		if c.want == "" && (err != nil || len(got) != c.count) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %q: %v, %v, want %q", c.network, c.ports, got, err, c.want)
		}
	}
}

// counted sums the packets of the packet filter's rules for translation that a
// test picks.
func counted(t *testing.T, pick func(rule string) bool) (packets int) {
	t.Helper()
	needs.Program(t, "iptables-save")
	output, err := exec.Command("iptables-save", "-c", "-t", "nat").Output()
	needs.Working(t, "iptables-save", err)
	for rule := range strings.Lines(string(output)) {
		n := 0
		if _, err := fmt.Sscanf(rule, "[%d:", &n); err == nil && pick(rule) {
			packets += n
		}
	}
	return packets
}

var engines = []flavour{{name: "docker", kind: "docker", brand: &theDocker}, {name: "podman", kind: "podman", brand: &thePodman}}

func (f flavour) with(change func(*Options)) flavour {
	f.options = func(o any) { change(o.(*Options)) }
	return f
}

func TestAPublishedPortIsReachedThroughTheRuleOrTheProxyForIt(t *testing.T) {
	for _, c := range []struct {
		flavour
		network    string
		translated int // connections
		proxies    int
		path       string
	}{
		{engines[0], "publish", 1, 1, "the host's address"},
		{engines[0], "publish-loopback", 0, 1, "the host's loopback, docker-proxy"},
		{engines[1], "publish", 1, 0, "the host's address"},
	} {
		t.Run(c.name+" "+c.network, func(t *testing.T) {
			s := setUp(t, c.with(func(o *Options) { o.Network, o.Ports = c.network, []string{"7219"} }))
			i := s.start(t, "published", environment.Limits{})
			listen := environment.Listen(i)
			if listen == i.Address() || listen == "" {
				t.Fatalf("it is reached at %s and listens at %q", i.Address(), listen)
			}
			server := `use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => $ARGV[0], LocalPort => 7219, Listen => 5) or die $@; while (my $c = $s->accept) { print $c "here"; close $c }`
			if _, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"perl", "-e", server, listen}}); err != nil {
				t.Fatal(err)
			}
			if _, err := i.Agent().Await(t.Context(), agent.Probe{TCP: listen + ":7219", Timeout: 30 * time.Second}); err != nil {
				t.Fatal(err)
			}
			rule := func(rule string) bool {
				return strings.Contains(rule, "-d "+i.Address()) && strings.Contains(rule, "-j DNAT")
			}
			before := counted(t, rule)
			client, err := net.DialTimeout("tcp4", i.Address()+":7219", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if output, err := io.ReadAll(client); err != nil || string(output) != "here" {
				t.Errorf("it says %q, %v", output, err)
			}
			if after := counted(t, rule); after != before+c.translated {
				t.Errorf("the rule had seen %d connections and now %d", before, after)
			}
			if path := i.Paths().Network; !strings.Contains(path, c.path) {
				t.Errorf("the path is %q", path)
			}
			proxy := 0
			for _, p := range i.Footprint().Processes {
				if p.Role == "docker-proxy" {
					proxy++
				}
			}
			if proxy != c.proxies {
				t.Errorf("%d processes of docker-proxy are counted, want %d", proxy, c.proxies)
			}
		})
	}
}

func TestNATTranslatesWhatLeavesTheMachine(t *testing.T) {
	for _, f := range engines {
		t.Run(f.name, func(t *testing.T) {
			if _, err := net.Dial("udp4", "198.51.100.1:9"); err != nil {
				t.Skip("needs a way out of this machine: " + err.Error())
			}
			s := setUp(t, f.with(func(o *Options) { o.Network = "nat" }))
			i := s.start(t, "behind", environment.Limits{})
			address := netip.MustParseAddr(i.Address())
			rule := func(rule string) bool {
				_, from, found := strings.Cut(rule, "-s ")
				from, _, _ = strings.Cut(from, " ")
				if !strings.Contains(from, "/") {
					from += "/32"
				}
				p, err := netip.ParsePrefix(from)
				return found && err == nil && p.Bits() > 0 && p.Contains(address)
			}
			before := counted(t, rule)
			// Nobody answers at this address, which is for documentation.
			testenv.Run(t, i, `perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0); send(S, "x", 0, sockaddr_in(9, inet_aton("198.51.100.1"))) or die $!'`)
			if after := counted(t, rule); after <= before {
				t.Errorf("the rules for %s had seen %d and now %d", address, before, after)
			}
		})
	}
}

func TestContainersDoNotReachTheLoopbackThatPortsArePublishedAt(t *testing.T) {
	s := setUp(t, engines[0].with(func(o *Options) { o.Network, o.Ports = "publish-loopback", []string{"7219"} }))
	n, err := s.env.NewNetwork(t.Context(), s.owner, "n")
	if err != nil {
		t.Fatal(err)
	}
	if _, is := n.(environment.HostOnly); !is || n.Host() == virtnet.HostAddress || n.Host() == "" {
		t.Errorf("containers reach the host at %q, and each other: %v", n.Host(), !is)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	o := Options{Socket: PodmanHost(), Network: "publish-loopback", Ports: []string{"7219"}, Log: "none", Seccomp: "default", Data: "bind"}
	if _, err := newContainers(thePodman, o); err == nil || !strings.Contains(err.Error(), "publish-loopback is Docker's") {
		t.Error(err)
	}
}
