package microvmtest

import (
	"testing"

	"tare/internal/environment/support/microvm"
)

// Life sends what tare asks a VMM for in the life of a guest: from its definition, or from
// a snapshot, to a pause.
func Life(t *testing.T, v *microvm.VMM, api *microvm.API, m *microvm.Machine, restore bool) {
	t.Helper()
	ctx := t.Context()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	send := func(requests []microvm.Request, err error) {
		t.Helper()
		do(err)
		do(api.Send(ctx, requests...))
	}
	do(api.Get(ctx, v.Ping, nil))
	if restore {
		send(v.Load(m))
	} else {
		send(v.Define(m))
		do(api.Send(ctx, v.Boot, v.Pause, v.Save(m)))
	}
	do(api.Send(ctx, v.Resume, v.Pause))
	_, err := v.Limiters(ctx, api)
	do(err)
}
