package study

import (
	"bytes"
	"encoding/json"
)

// Same reports whether two plans are of one study: they differ at most in where the
// study was read, in the seed, and in what a run records of its machine.
func (p *Plan) Same(other *Plan) bool {
	texts := [2][]byte{}
	for n, one := range []*Plan{p, other} {
		plan := *one
		plan.Origin, plan.Seed, plan.Core, plan.AvailableMemory, plan.Remarks = "", 0, nil, 0, nil
		text, err := json.Marshal(plan)
		if err != nil {
			return false
		}
		texts[n] = text
	}
	return bytes.Equal(texts[0], texts[1])
}
