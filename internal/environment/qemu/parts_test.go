package qemu

import (
	"strings"
	"testing"

	"tare/internal/environment"
)

func TestTheVersionIsReadFromWhatQEMUPrints(t *testing.T) {
	for output, want := range map[string]release{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright": {7, "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"},
		"QEMU emulator version 10.0.2\nCopyright (c) 2003-2025":                     {10, "10.0.2"},
	} {
		if got, err := parseVersion(output); err != nil || got != want {
			t.Errorf("%q: %+v, %v", output, got, err)
		}
	}
	if _, err := parseVersion("command not understood"); err == nil {
		t.Error("a version was found where there is none")
	}
}

func TestRequirementsTellEmulationFromVirtualization(t *testing.T) {
	o := defaults()
	o.Accel = "tcg"
	if f := o.checkKVM(t.Context()); f.State != environment.Caveat || !strings.Contains(f.Reason, "tcg") {
		t.Errorf("tcg: %+v", f)
	}
	auto, insist := defaults(), defaults()
	insist.Accel = "kvm"
	a, k := auto.checkKVM(t.Context()), insist.checkKVM(t.Context())
	t.Logf("auto: %+v; kvm: %+v", a, k)
	switch {
	case a.State == environment.Usable && k.State == environment.Usable:
	case a.State == environment.Caveat && k.State == environment.Missing && strings.Contains(a.Reason, "tcg") && !k.Fix.IsZero():
	default:
		t.Errorf("auto: %+v; kvm: %+v", a, k)
	}
}

func TestEveryRequirementSaysWhatItIs(t *testing.T) {
	state, findings := environment.Check(t.Context(), "qemu", defaults())
	t.Log(state)
	for _, f := range findings {
		t.Logf("%+v", f)
		if f.What == "" || f.State != environment.Usable && f.Reason == "" {
			t.Errorf("%+v", f)
		}
	}
}
