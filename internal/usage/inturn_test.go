package usage

import (
	"encoding/json"
	"testing"
)

func TestInTurnPeaksAreNotSummedUp(t *testing.T) {
	one := func(cpu, memory float64) Usage {
		u := Unknown("not counted")
		u.CPUUser, u.MemoryPeak, u.MemoryMean = Known(cpu), Known(2*memory), Known(memory)
		u.Parts = []Part{{Role: "workload", Name: "a", Processes: 1, CPU: cpu, Memory: memory}}
		u.Host = &HostUsage{Boot: "here", Seconds: cpu, CPU: Known(cpu), Watched: Known(cpu), Cores: 2}
		return u
	}
	u := InTurn(one(1, 10), one(2, 30))
	if u.CPUUser.Value != 3 || u.MemoryPeak.Value != 60 || u.MemoryMean.Value != 20 || u.DiskRead.Missing == "" || u.CacheMean.Missing == "" {
		t.Errorf("%+v", u)
	}
	if h := u.Host; h.Seconds != 3 || h.CPU.Value != 3 || h.Watched.Value != 3 || h.Cores != 2 || h.Boot != "here" {
		t.Errorf("the machine used %+v", h)
	}
	if p := u.Parts[0]; p.Processes != 1 || p.CPU != 3 || p.Memory != 20 {
		t.Errorf("%+v", p)
	}
}

func TestWhatIsKnownWithoutItsPartsIsAddedUpToo(t *testing.T) {
	whole := func(cpu, working float64) Usage {
		u, c, w := Unknown("only together"), Known(cpu), Known(working)
		u.CPUTime, u.WorkingSet = &c, &w
		return u
	}
	parts := Usage{CPUUser: Known(1), CPUSystem: Known(2)}
	sum := Sum(whole(4, 10), whole(5, 30), parts)
	if sum.CPU() != Known(12) || sum.CPUUser.Missing != "only together" || sum.Working().Missing != Together {
		t.Errorf("%+v, %+v, %+v", sum.CPU(), sum.CPUUser, sum.Working())
	}
	turns := InTurn(whole(4, 10), whole(5, 30))
	if turns.CPU() != Known(9) || turns.Working() != Known(20) {
		t.Errorf("%+v, %+v", turns.CPU(), turns.Working())
	}
	text, err := json.Marshal(whole(4, 10))
	var read Usage
	if err != nil || json.Unmarshal(text, &read) != nil || read.CPU() != Known(4) || read.Working() != Known(10) {
		t.Errorf("%s, %v, %+v", text, err, read)
	}
}
