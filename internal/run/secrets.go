package run

import (
	"encoding/json"
	"fmt"
	"strings"

	"tare/internal/application/secret"
	"tare/internal/base/crash"
	"tare/internal/rundir"
)

// readSecrets reads the values of the plan's secrets, once, and masks them in events from
// then on. A value that the plan or the command line has is none: it would be stored.
func (e *execution) readSecrets() (err error) {
	if e.secrets, err = secret.Read(e.Plan.Secrets()); err != nil || e.secrets == nil {
		return err
	}
	plan, err := json.Marshal(e.Plan)
	if err != nil {
		return err
	}
	if name := e.secrets.Found(string(plan) + "\n" + strings.Join(e.Command, "\n")); name != "" {
		return fmt.Errorf("secret %s: its value is also in the study, a workload or the command line, which the run stores; keep it out of there, or choose a value that is not a word of them", name)
	}
	crash.Mask = e.secrets.Mask
	events := e.events
	e.events = func(event Event) {
		event.Message = e.secrets.Mask(event.Message)
		events(event)
	}
	for _, warning := range e.secrets.Warnings {
		e.events(Event{Kind: Noted, Message: warning})
	}
	return nil
}

// maskSecrets masks what a trial says in words. Outputs are masked already when they
// arrive; an error can still have what tare itself sent.
func (e *execution) maskSecrets(t *rundir.Trial) {
	t.Reason, t.Output = e.secrets.Mask(t.Reason), e.secrets.Mask(t.Output)
	for i := range t.Warnings {
		t.Warnings[i] = e.secrets.Mask(t.Warnings[i])
	}
}
