package workload

import "testing"

func TestEveryBuiltInPackIsValid(t *testing.T) {
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if p.Name != name {
			t.Errorf("the file of %s describes %s", name, p.Name)
		}
		if _, err := p.With(nil, InstanceVars{}); err != nil {
			t.Error(err)
		}
	}
}
