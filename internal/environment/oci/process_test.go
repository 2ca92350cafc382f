package oci

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestAProcessThatHasExitedIsEndedAlsoWhenTheTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &process{Process: &os.Process{}, ended: make(chan struct{}), forget: func() {}}
	if err := p.end(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("a process that runs: %v", err)
	}
	close(p.ended)
	for range 100 {
		if err := p.end(ctx, false); err != nil {
			t.Fatal(err)
		}
	}
}
