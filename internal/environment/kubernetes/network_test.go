package kubernetes

import (
	"errors"
	"testing"

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
