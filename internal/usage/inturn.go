package usage

import "math"

// InTurn adds up what instances used one after another: counters are summed up, peaks
// are the largest, and means the mean.
func InTurn(usages ...Usage) Usage {
	total, n := Sum(usages...), float64(max(1, len(usages)))
	for _, mean := range total.means() {
		mean.Value /= n
	}
	if total.WorkingSet != nil {
		mean := *total.WorkingSet
		mean.Value /= n
		total.WorkingSet = &mean
	}
	for i, peak := range total.peaks() {
		peak.Value = 0
		for k := range usages {
			peak.Value = max(peak.Value, usages[k].peaks()[i].Value)
		}
	}
	total.Host = nil
	for _, u := range usages {
		total.Host = total.Host.then(u.Host)
	}
	for i := range total.Parts {
		p := &total.Parts[i]
		p.Memory, p.Processes = p.Memory/n, int(math.Ceil(float64(p.Processes)/n))
	}
	return total
}

func (u *Usage) means() []*Figure {
	return []*Figure{&u.MemoryMean, &u.CacheMean, &u.ThreadsMean, &u.ProcessesMean}
}

func (u *Usage) peaks() []*Figure {
	return []*Figure{&u.MemoryPeak, &u.CachePeak, &u.ThreadsPeak, &u.ProcessesPeak}
}
