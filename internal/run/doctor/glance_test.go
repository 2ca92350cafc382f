package doctor

import (
	"context"
	"slices"
	"testing"
	"time"

	"tare/internal/environment"
)

func TestPackagesAreThoseOfAFixThatOnlyInstalls(t *testing.T) {
	for fix, want := range map[string][]string{
		"apt-get install -y qemu-system-x86 qemu-utils":                     {"qemu-system-x86", "qemu-utils"},
		"sudo apt-get install runc":                                         {"runc"},
		"apt-get install -y openssh-client, or name the program in $X":      nil,
		"sudo apt-get install -y uidmap; sudo usermod --add-subuids 1-2 me": nil,
		"apt-get install -y virtualbox linux-headers-$(uname -r)":           nil,
		"modprobe tun": nil,
		"":             nil,
	} {
		if got := Packages(fix); !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", fix, got, want)
		}
	}
}

func init() {
	register := func(kind string, requires ...environment.Requirement) {
		environment.Register(environment.Registration{
			Kind: kind, Options: func() any { return nil }, Requires: func(any) []environment.Requirement { return requires },
		})
	}
	missing := func(fix string) environment.Requirement {
		return environment.Requirement{What: fix, Check: func(context.Context) environment.Finding {
			return environment.Finding{State: environment.Missing, Fix: fix}
		}}
	}
	register("hangs", environment.Requirement{Check: func(context.Context) environment.Finding { select {} }})
	register("lacks", missing("apt-get install -y one"), missing("start it"), missing("never reached"))
}

// A kind whose check hangs costs the limit and no more, and the findings go on as long as
// packages are missing.
func TestAGlanceEndsAtItsLimit(t *testing.T) {
	checked, unchecked := Glance(t.Context(), 100*time.Millisecond)
	if !slices.Equal(unchecked, []string{"hangs"}) || len(checked) != 1 || len(checked[0].Findings) != 2 {
		t.Errorf("%+v, unchecked %q", checked, unchecked)
	}
}
