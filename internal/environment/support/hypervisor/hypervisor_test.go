package hypervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
)

// shelf is a hypervisor that keeps its VMs in memory.
type shelf struct {
	vms map[string]*State
	did []string
	no  string // what is refused
}

func (s *shelf) do(what, name string) error {
	if what == s.no {
		return fmt.Errorf("%s %s: refused", what, name)
	}
	s.did = append(s.did, what+" "+name)
	return nil
}

func (s *shelf) State(_ context.Context, name string) (State, error) {
	if s.vms[name] == nil {
		return State{}, fmt.Errorf("%w: %s", ErrNone, name)
	}
	return *s.vms[name], nil
}

func (s *shelf) Clone(_ context.Context, v VM) error {
	s.vms[v.Name] = &State{Labels: map[string]string{}}
	return s.do("clone", v.Name)
}

func (s *shelf) Restore(_ context.Context, v VM) error { return s.do("restore", v.Name) }

func (s *shelf) Label(_ context.Context, v VM, labels map[string]string) error {
	for key, value := range labels {
		s.vms[v.Name].Labels[key] = value
		if value == "" {
			delete(s.vms[v.Name].Labels, key)
		}
	}
	return nil
}

func (s *shelf) Resize(context.Context, VM, Size) ([]string, error) { return nil, nil }
func (s *shelf) PowerOn(_ context.Context, v VM, _ int) (func(context.Context) (string, error), error) {
	s.vms[v.Name].On = true
	return func(context.Context) (string, error) { return "127.0.0.1:1", nil }, s.do("on", v.Name)
}
func (s *shelf) PowerOff(_ context.Context, v VM) error {
	s.vms[v.Name].On = false
	return s.do("off", v.Name)
}
func (s *shelf) Delete(_ context.Context, v VM) error {
	delete(s.vms, v.Name)
	return s.do("delete", v.Name)
}

var ours = Labels("/home", "abcdefghijkl")

func TestOnlyVMsWithTheLabelsAreRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := VM{Name: "template", Template: "template", Mode: rapid.SampledFrom([]string{Linked, Clone, Restore, Start}).Draw(t, "mode"), Labels: ours}
		if v.Own() {
			v.Name = "tare-abcdefghijkl-" + rapid.StringMatching(`[a-z-]{1,9}`).Draw(t, "name")
		}
		has := map[string]string{}
		for _, key := range []string{OwnerLabel, HomeLabel, MachineLabel} {
			switch rapid.SampledFrom([]string{"ours", "theirs", "none"}).Draw(t, key) {
			case "ours":
				has[key] = ours[key]
			case "theirs":
				has[key] = "another"
			}
		}
		h := &shelf{vms: map[string]*State{v.Name: {On: true, Labels: has}}}
		whole := len(has) == 3 && has[OwnerLabel] == ours[OwnerLabel] && has[HomeLabel] == ours[HomeLabel] && has[MachineLabel] == ours[MachineLabel]
		mine := whole || v.Own() && len(has) == 0
		err := End(context.Background(), h, v)
		if mine != (err == nil) || !mine && (!errors.Is(err, ErrNone) || len(h.did) > 0) {
			t.Fatalf("%s with the labels %v: %v, and it did %q", v.Name, has, err, h.did)
		}
		if mine && v.Own() == (h.vms[v.Name] != nil) {
			t.Fatalf("after %q there are %v", h.did, h.vms)
		}
		if left := h.vms[v.Name]; mine && !v.Own() && (left.On || len(left.Labels) > 0) {
			t.Fatalf("the template is left as %+v", left)
		}
	})
}

func TestATemplateIsTakenOnlyWhenNobodyUsesIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		state State
		want  string
	}{
		{"off", State{Labels: map[string]string{}}, ""},
		{"on", State{On: true, Word: "running", Labels: map[string]string{}}, "is running: mode: restore requires one that is powered off"},
		{"another's", State{Labels: map[string]string{OwnerLabel: "zzz"}}, "is in use by tare's owner zzz"},
	} {
		h := &shelf{vms: map[string]*State{"template": &c.state}}
		err := prepare(t.Context(), h, VM{Name: "template", Template: "template", Mode: Restore, Labels: ours})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(h.did) > 0) {
			t.Errorf("%s: %v, after %q", c.name, err, h.did)
		}
	}
	h := &shelf{vms: map[string]*State{"template": {Labels: map[string]string{}}}, no: "restore"}
	if err := prepare(t.Context(), h, VM{Name: "template", Mode: Restore, Labels: ours}); err == nil || len(h.vms["template"].Labels) > 0 {
		t.Errorf("a snapshot that is not there: %v, and the labels %v stay", err, h.vms["template"].Labels)
	}
}

func TestASweepRemovesOnlyVMsRecordedByDeadOwners(t *testing.T) {
	home := filepath.Join(t.TempDir(), `odd [a]*\n home`)
	o, err := cleanup.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	labels := Labels(o.Home(), o.ID())
	h := &shelf{vms: map[string]*State{}}
	for name, has := range map[string]map[string]string{"left": labels, "never-made": nil, "somebody-elses": {OwnerLabel: "another"}} {
		v := VM{Name: nameOf(o, name), Mode: Clone, Labels: labels}
		if _, err := (note{v, map[string]string{"where": name}}).write(home, "shelf", name); err != nil {
			t.Fatal(err)
		}
		if has != nil {
			h.vms[v.Name] = &State{On: true, Labels: has}
		}
	}
	torn := filepath.Join(home, notes, "shelf-"+o.ID()+"-torn.json")
	if err := os.WriteFile(torn, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := []string{}
	open := func(_ context.Context, at json.RawMessage) (Hypervisor, func(), error) {
		asked = append(asked, string(at))
		return h, func() {}, nil
	}
	if removed, err := Sweep(t.Context(), "shelf", home, func(string) bool { return false }, open); err != nil || len(removed)+len(asked) > 0 {
		t.Errorf("of a living owner %q was removed, after asking %q (%v)", removed, asked, err)
	}
	dead := func(id string) bool { return id == o.ID() }
	h.no = "off"
	removed, err := Sweep(t.Context(), "shelf", home, dead, open)
	if err == nil || !strings.Contains(err.Error(), "if it no longer exists, delete "+home) || len(removed) > 0 {
		t.Errorf("of a VM that resists: %q, %v", removed, err)
	}
	h.no = ""
	removed, err = Sweep(t.Context(), "shelf", home, dead, open)
	if err != nil || !slices.Equal(removed, []string{"virtual machine " + nameOf(o, "left") + " of shelf"}) {
		t.Errorf("removed %q, %v", removed, err)
	}
	if h.vms[nameOf(o, "somebody-elses")] == nil || len(h.did) != 2 || len(asked) != 4 {
		t.Errorf("it did %q, asked %q", h.did, asked)
	}
	if left, _ := os.ReadDir(filepath.Join(home, notes)); len(left) > 0 {
		t.Errorf("left are the notes %v", left)
	}
}

func TestASizeIsWhatTheOptionsSayElseTheLimits(t *testing.T) {
	for _, c := range []struct {
		o      Options
		l      environment.Limits
		cpus   int
		memory quantity.Bytes
	}{
		{Options{}, environment.Limits{}, 0, 0},
		{Options{}, environment.Limits{CPUs: 1.5, Memory: quantity.GiB}, 2, quantity.GiB},
		{Options{}, environment.Limits{CPUs: 2, Cores: []int{3}}, 1, 0},
		{Options{CPUs: 4, Memory: quantity.MiB}, environment.Limits{CPUs: 2, Memory: quantity.GiB, Cores: []int{3}}, 4, quantity.MiB},
	} {
		if cpus, memory := c.o.size(c.l); cpus != c.cpus || memory != c.memory {
			t.Errorf("%+v under %+v: %d CPUs and %s", c.o, c.l, cpus, memory)
		}
	}
}

func TestAKeyIsLookedUpByTheTemplatesName(t *testing.T) {
	for template, want := range map[string]string{"debian-12": "debian-12", "/DC0/vm/debian": "debian", "my template": "tare-template", "a*": "tare-template"} {
		if got := (&Options{Template: template}).alias(); got != want {
			t.Errorf("template %q is known as %q, want %q", template, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "known")
	key := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
	if err := os.WriteFile(file, []byte("debian "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !knows(file, "debian") || knows(file, "ubuntu") || knows(file+"x", "debian") {
		t.Error("a known key is not found, or one that is not known is")
	}
	for line, want := range map[string]bool{
		key: true, key + " root@debian\n": true, "": false, key[:60]: false, "ssh-rsa " + key[12:]: false, key + "\n" + key: false, "debian " + key: false,
	} {
		if isPublicKey(line) != want {
			t.Errorf("%q is a public key: %t", line, !want)
		}
	}
}
