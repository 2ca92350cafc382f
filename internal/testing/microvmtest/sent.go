package microvmtest

import (
	"testing"

	"tare/internal/environment/support/microvm"
)

// Life sends what tare asks a VMM for in the life of a guest: from its definition, or from
// a snapshot, to a pause.
func Life(t *testing.T, v microvm.VMM, api *microvm.API, m *microvm.Machine, restore bool) {
	t.Helper()
	ctx := t.Context()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(api.Get(ctx, v.PingPath(), nil))
	if restore {
		do(v.Load(ctx, api, m))
	} else {
		do(v.Define(ctx, api, m))
		do(v.Boot(ctx, api))
		do(v.Save(ctx, api, m))
	}
	do(v.Resume(ctx, api))
	do(v.Pause(ctx, api))
	_, err := v.Limiters(ctx, api)
	do(err)
}
