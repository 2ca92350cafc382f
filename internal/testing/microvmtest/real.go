package microvmtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/environment/support/microvm"
	"tare/internal/testing/exchanges"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// Comes starts guests of a real VMM with these options, also where KVM is so slow
// that none of them gets to its agent. The VMM has to accept every request. A guest
// that does not come to its agent is one sentence, with its VMM's last words, and
// leaves nothing. How far each came is in the log.
func (k Kind) Comes(t *testing.T, options map[string]string) {
	program := exchanges.Program(t, k.Variable, k.Program)
	needs.Root(t)
	testenv.NeedsAgent(t)
	for name, text := range options {
		t.Run(name, func(t *testing.T) {
			b := &Bench{Program: program, kind: k, anyKVM: true}
			b.run(t, func(t *testing.T, b *Bench) {
				i, err := b.Environment(t, text).Start(t.Context(), b.Request("guest"))
				if err == nil {
					b.works(t, i)
					return
				}
				t.Logf("%s: %v", name, err)
				var refused *microvm.APIError
				if errors.As(err, &refused) {
					t.Error("a request was refused")
				}
				sentence, words, _ := strings.Cut(err.Error(), "\n")
				sentence = strings.TrimPrefix(sentence, "taking a snapshot of a guest: ")
				if !slices.ContainsFunc([]string{"the guest died before its agent was ready (", k.Name + " exited before the guest's agent was ready (",
					"the guest runs, but its agent was not ready within start_timeout, "}, func(way string) bool { return strings.HasPrefix(sentence, way) }) {
					t.Error("the sentence does not say what became of the guest")
				}
				// What a VMM logs at its end can leave no room for its start.
				if !strings.Contains(words, k.Name+"'s log") || strings.Contains(sentence, "start_timeout") && !strings.Contains(words, k.Started) {
					t.Error("the VMM's last words are missing")
				}
			})
		})
	}
}

// works checks a guest that came to its agent.
func (b *Bench) works(t *testing.T, i environment.Instance) {
	t.Helper()
	defer Stop(t, i)
	t.Logf("its agent is ready: %v, %q", i.Phases(), i.Notes())
	freezer := i.Details().Freezer
	if err := errors.Join(freezer.Freeze(t.Context()), freezer.Thaw(t.Context())); err != nil {
		t.Error(err)
	}
	if output := testenv.Run(t, i, "echo here"); output != "here" {
		t.Errorf("%q", output)
	}
}
