package study

import (
	"encoding/json"
	"testing"
	"time"
)

func TestAPlanIsTheSameAsTheOneThatItsRunKept(t *testing.T) {
	open := func() *Plan {
		t.Helper()
		plan, err := Open("quick", Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	kept := open()
	core := 0
	kept.Core, kept.AvailableMemory, kept.Seed = &core, 1<<30, 7
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	read := &Plan{}
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	if !open().Same(read) {
		t.Error("the plan of a run is another one than its study's")
	}
	for what, change := range map[string]func(*Plan){
		"environment": func(p *Plan) { p.Environments = p.Environments[1:] },
		"option":      func(p *Plan) { p.Environments[1].Options = json.RawMessage(`{}`) },
		"parameter":   func(p *Plan) { p.Workloads[0].Levels[0].Parameters["clients"] = "77" },
		"budget":      func(p *Plan) { p.Design.Budget += time.Minute },
	} {
		other := open()
		if change(other); other.Same(read) {
			t.Errorf("a plan with another %s is the same", what)
		}
	}
}
