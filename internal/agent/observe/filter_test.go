package observe

import (
	"os/exec"
	"slices"
	"testing"

	"tare/internal/linux/netns"
	"tare/internal/testing/needs"
)

// inNamespace calls a function in a new network namespace with only a loopback,
// after running commands in it.
func inNamespace(t *testing.T, do func(), commands ...[]string) {
	t.Helper()
	needs.Root(t)
	space, err := netns.New()
	needs.Working(t, "permission to create network namespaces", err)
	defer space.Close()
	err = netns.Within(space, func() error {
		for _, c := range append([][]string{{"ip", "link", "set", "lo", "up"}}, commands...) {
			needs.Program(t, c[0])
			if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
				t.Skipf("needs a kernel that takes %q: %s", c, out)
			}
		}
		do()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestANamespaceBeginsWithoutRulesAndTracksNoConnections(t *testing.T) {
	inNamespace(t, func() {
		if f := PacketFilter(); len(f.Chains) != 0 || f.ChainsError != "" || f.Tracked {
			t.Errorf("it has %+v", f)
		}
	})
}

// Both generations of tables are seen, with the rules that hang at a hook and not
// those that they jump to; what IPv4 packets do not pass is left out.
func TestRulesAreCountedByTheirHooks(t *testing.T) {
	for name, tool := range map[string]string{"nftables": "iptables-nft", "iptables": "iptables-legacy"} {
		t.Run(name, func(t *testing.T) {
			commands := [][]string{
				{tool, "-t", "nat", "-N", "OWN"}, {tool, "-t", "nat", "-A", "OWN", "-j", "RETURN"},
				{tool, "-t", "nat", "-A", "OUTPUT", "-j", "OWN"}, {tool, "-t", "nat", "-A", "OUTPUT", "-p", "tcp", "--dport", "9", "-j", "OWN"},
				{tool, "-t", "nat", "-A", "POSTROUTING", "-s", "10.0.0.1", "-j", "MASQUERADE"}, {tool, "-t", "filter", "-A", "INPUT", "-s", "10.0.0.1", "-j", "DROP"},
			}
			if tool == "iptables-nft" {
				commands = append(commands, []string{"ip6tables-nft", "-A", "INPUT", "-j", "ACCEPT"})
			}
			inNamespace(t, func() {
				f := PacketFilter()
				for _, want := range []Chain{{"nat", "output", 2}, {"filter", "input", 1}} {
					if !slices.Contains(f.Chains, want) {
						t.Errorf("there is no %+v among %+v", want, f)
					}
				}
				for _, c := range f.Chains {
					if c.Hook == "input" && c.Table == "filter" && c.Rules != 1 {
						t.Errorf("%+v is of IPv6", c)
					}
				}
				if !f.Tracked {
					t.Errorf("connections are not tracked, though addresses may be translated: %+v", f)
				}
			}, commands...)
		})
	}
}
