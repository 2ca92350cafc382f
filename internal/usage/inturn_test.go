package usage

import "testing"

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
