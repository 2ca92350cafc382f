package kubernetes

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/environment"
)

func TestOneInstanceOfANetworkHasTheAddressOfANodeAndOthersJoinIt(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		alone  bool
	}{
		{func(o *Options) {}, false},
		{func(o *Options) { o.Service, o.Ports = "cluster_ip", []int{6379} }, false},
		{func(o *Options) { o.Service, o.Ports = "node_port", []int{30379} }, true},
		{func(o *Options) { o.Network = "host" }, true},
	} {
		o, n := defaults(), &network{}
		c.change(o)
		if _, err := o.join(n); err != nil {
			t.Fatal(err)
		}
		if _, err := o.join(n); errors.Is(err, environment.ErrOneAddress) != c.alone {
			t.Errorf("%s, %s: %v", o.Network, o.Service, err)
		}
		beside := (&pods{options: *o}).besides()
		if _, err := beside.join(n); err != nil {
			t.Errorf("a driver beside %s, %s: %v", o.Network, o.Service, err)
		}
		n.leave(&instance{options: *o, network: n})
		if _, err := o.join(n); err != nil {
			t.Errorf("after the first one has left: %v", err)
		}
	}
}

// Paths of two nodes are compared: a name in them would be a difference.
func TestPathsAreTheSameOnAllNodes(t *testing.T) {
	var first environment.Paths
	for _, node := range []string{"node-1", "node-2"} {
		i := &instance{options: *defaults(), pod: &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}}
		if first == (environment.Paths{}) {
			first = i.Paths()
		}
		if got := i.Paths(); got != first {
			t.Errorf("on %s: %+v, on the first node: %+v", node, got, first)
		}
	}
}
