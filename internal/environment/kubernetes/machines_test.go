package kubernetes

import (
	"encoding/json"
	"strings"
	"testing"

	"tare/internal/environment"
)

func TestPodsAndVMsHaveOptionsOfTheirOwn(t *testing.T) {
	for _, c := range []struct{ options, want string }{
		{`{"as": "vmi", "template": "debian"}`, ""},
		{`{"as": "vmi", "template": "debian", "namespace": "bench", "mode": "start"}`, ""},
		{`{"as": "machine"}`, `as: "machine" is not known: choose one of pod, vmi`},
		{`{"as": "vmi"}`, "template: missing"},
		{`{"as": "vmi", "template": "debian", "mode": "clone"}`, "mode: clone is not supported on KubeVirt"},
		{`{"as": "vmi", "template": "debian", "runtime_class": "kata"}`, "runtime_class: a VM of KubeVirt (as: vmi) does not have it"},
		{`{"as": "vmi", "template": "debian", "data": "memory"}`, "data: a VM of KubeVirt (as: vmi) does not have it"},
		{`{"template": "debian"}`, "template: a pod does not have it"},
		{`{"port": 22}`, "port: a pod does not have it"},
	} {
		o := defaults()
		if err := json.Unmarshal([]byte(c.options), o); err != nil {
			t.Fatal(err)
		}
		if err := o.Validate(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.options, err, c.want)
		}
	}
}

func TestAVMHasTheDefaultsOfHypervisorsAndAPodNone(t *testing.T) {
	o := defaults()
	if m := o.machine(); m.Mode != "linked" || m.User != "root" || m.Port != 22 || m.RootFS != "image" || m.StartTimeout == 0 {
		t.Errorf("%+v", m)
	}
	text, err := json.Marshal(o)
	if err != nil || strings.Contains(string(text), "template") || strings.Contains(string(text), "start_timeout") {
		t.Errorf("a pod's options are %s, %v", text, err)
	}
}

func TestOnlyVMsThatAreMadeForANodeArePlaced(t *testing.T) {
	for mode, want := range map[string]bool{"linked": true, "start": false} {
		o := defaults()
		o.As, o.Template, o.Mode = "vmi", "debian", mode
		registration, _ := environment.Lookup(kind)
		e, err := registration.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, is := e.(environment.Placed); is != want {
			t.Errorf("mode %s: placed is %v", mode, is)
		}
	}
}
