package doctor

import (
	"context"
	"slices"
	"testing"
	"time"

	"tare/internal/environment"
)

func init() {
	register := func(kind string, requires ...environment.Requirement) {
		environment.Register(environment.Registration{
			Kind: kind, Options: func() any { return nil }, Requires: func(any) []environment.Requirement { return requires },
		})
	}
	missing := func(fix environment.Fix) environment.Requirement {
		return environment.Requirement{What: fix.String(), Check: func(context.Context) environment.Finding {
			return environment.Finding{State: environment.Missing, Fix: fix}
		}}
	}
	register("hangs", environment.Requirement{Check: func(context.Context) environment.Finding { select {} }})
	register("lacks", missing(environment.Install("one")), missing(environment.Advice("start it")), missing(environment.Advice("never reached")))
}

// A kind whose check hangs costs the limit and no more, and the findings go on as long as
// packages are missing.
func TestAGlanceEndsAtItsLimit(t *testing.T) {
	checked, unchecked := Glance(t.Context(), 100*time.Millisecond)
	if !slices.Equal(unchecked, []string{"hangs"}) || len(checked) != 1 || len(checked[0].Findings) != 2 {
		t.Errorf("%+v, unchecked %q", checked, unchecked)
	}
}
