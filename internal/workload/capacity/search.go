package capacity

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/stats"
)

// Outcome is what a probe shows.
type Outcome string

// The outcomes. Late says nothing about the server: the driver did not keep its rate.
const (
	Held   Outcome = "held"
	Failed Outcome = "failed"
	Late   Outcome = "late"
)

// Probe is one sample at a rate.
type Probe struct {
	// Rate of requests a second, as intended.
	Rate    float64 `json:"rate"`
	Outcome Outcome `json:"outcome"`
	// Why says what did not hold; "" where everything did.
	Why string `json:"why,omitempty"`
	// Answered is how many requests a second were answered; 0 where it is unknown.
	Answered float64 `json:"answered,omitempty"`
	// CPU is the environment's CPU time per request in seconds; 0 where it is unknown.
	CPU float64 `json:"cpu_per_request_s,omitempty"`
}

// Bracket finds a first rate near the capacity, alone and coarsely, from which blocks
// can start: it doubles the rate while probes hold, and then narrows it down.
type Bracket struct {
	From, Most float64 // the first rate, and the largest one that the driver takes
	probes     []Probe
}

const (
	// narrow is by which factor the ends of a bracket differ at most.
	narrow = 1.25
	// mostBracket bounds the probes of a bracket: doublings from 1/s to a million, or
	// as many halvings with two probes each.
	mostBracket = 48
)

// Next is the rate of the next probe. If found, it is near the capacity and needs none.
func (b *Bracket) Next() (rate float64, found bool) {
	if n := len(b.probes); n > 0 && b.probes[n-1].Outcome != Held && (n == 1 || b.probes[n-2].Rate != b.probes[n-1].Rate) {
		return b.probes[n-1].Rate, false // once more: it may be a disturbance
	}
	low, high := 0., math.Inf(1)
	answered := 0.
	held := with(b.probes, Held)
	for _, p := range b.probes {
		if p.Rate < high && !slices.Contains(rates(held), p.Rate) {
			high, answered = p.Rate, p.Answered
		}
	}
	for _, p := range held {
		if p.Rate < high {
			low = max(low, p.Rate)
		}
	}
	// What a server answers that is sent too much is about what it can do.
	hinted := answered > low*math.Sqrt(narrow) && answered < high/math.Sqrt(narrow)
	switch {
	case len(b.probes) == 0:
		return bounded(b.From, b.Most), false
	case math.IsInf(high, 1):
		return bounded(2*low, b.Most), low == b.Most || len(b.probes) >= mostBracket
	case low > 0 && (high <= narrow*low || high-low <= 1), len(b.probes) >= mostBracket:
		return bounded(math.Sqrt(max(low, 1)*high), b.Most), true
	case hinted:
		return bounded(answered, b.Most), false
	case low == 0:
		return bounded(high/2, b.Most), high <= 1
	}
	return bounded(math.Sqrt(low*high), b.Most), false
}

// Add takes a probe of the next rate.
func (b *Bracket) Add(p Probe) { b.probes = append(b.probes, p) }

// Probes is how many probes of each environment a block has. A probe of a second has
// half a second of overhead, so that a block of three environments takes 40 s, and
// five minutes have the seven blocks that an interval of two contrasts needs.
const Probes = 8

const (
	// firstStep and leastStep are the steps of a block's rates, as logarithms. The rates
	// of the first probes show on which side of the capacity they are, and those of the
	// others lie where half of them hold, which tells most.
	firstStep = .08
	leastStep = .03
	// mostStep bounds a step that grows while all probes have the same outcome: larger ones
	// go far past the capacity where disturbances come in bursts.
	mostStep = .16
	// lapse is the share of probes whose outcome does not depend on the rate: a stall of
	// the machine.
	lapse = .03
	// mostLate is the share of the probes that did not hold in which the driver may have
	// been late, for the others to have a capacity.
	mostLate = 1. / 2
)

// spreads are how gradually the share of probes that hold may fall with the rate, as the
// scale of a logistic curve; each is equally likely before. The estimate hardly depends on
// them, as the rates lie on both sides of the capacity; see docs/how-to/capacity.md.
var spreads = []float64{.01, .03}

// Block is the search in one block: probes that go up after one that held and down
// after one that did not, from a rate that was found before. The estimate comes from
// the probes of the block alone, so that blocks are independent.
type Block struct {
	Most   float64 // the largest rate that the driver takes
	next   float64 // ln of the rate
	step   float64
	same   int
	moved  bool // a probe has decided on the next rate
	held   bool // the last one that did
	probes []Probe
}

// NewBlock starts at a rate.
func NewBlock(from, most float64) *Block {
	return &Block{Most: most, next: math.Log(from), step: firstStep}
}

// Next is the rate of the next probe: a whole number of requests a second.
func (b *Block) Next() float64 { return bounded(math.Exp(b.next), b.Most) }

func bounded(rate, most float64) float64 { return min(max(math.Round(rate), 1), most) }

// Add takes a probe of the next rate. One that is late is made again, as it may be a
// disturbance; a second one shows that the driver does not keep the rate.
func (b *Block) Add(p Probe) {
	if n := len(b.probes); p.Outcome == Late && (n == 0 || b.probes[n-1].Outcome != Late || b.probes[n-1].Rate != p.Rate) {
		b.probes = append(b.probes, p)
		b.next = math.Log(p.Rate)
		return
	}
	held := p.Outcome == Held
	if b.moved {
		if b.held != held {
			b.step, b.same = max(b.step/2, leastStep), 0
		} else if b.same++; b.same >= 2 {
			b.step = min(2*b.step, mostStep)
		}
	}
	b.moved, b.held = true, held
	b.probes = append(b.probes, p)
	b.next = math.Log(p.Rate) - b.step
	if held {
		b.next += 2 * b.step
	}
}

// Probes so far.
func (b *Block) Probes() []Probe { return b.probes }

// Estimate is the rate that half of the probes hold: the mean of the distribution of
// the threshold given the outcomes, where all logarithms are equally likely before. An
// error says why the probes tell none.
//
// The machine is faster in one probe than in the next. Where the CPU time is known, the
// threshold may therefore also be one of the load, the rate times the CPU time per
// request, at the mean CPU time of the probes. Both are equally likely before; which of
// them separates the outcomes better has the larger weight (Bayesian model averaging:
// Hoeting et al., Statistical Science 14(4), 1999).
func Estimate(probes []Probe) (rate float64, err error) {
	late := with(probes, Late)
	held, failed := with(probes, Held), with(probes, Failed)
	switch {
	case len(late) > 0 && float64(len(late)) > mostLate*float64(len(late)+len(failed)):
		return 0, fmt.Errorf("the driver could not keep its rate in %d of the %d probes that did not hold, so they tell nothing of the server, whose capacity is %s: %s", len(late), len(late)+len(failed), atLeast(held), late[0].Why)
	case len(held) == 0:
		return 0, fmt.Errorf("none of %d probes held, down to %.0f/s: %s", len(failed), slices.Min(rates(failed)), failed[len(failed)-1].Why)
	case len(failed) == 0:
		return 0, fmt.Errorf("all of %d probes held: the capacity is %s", len(held), atLeast(held))
	}
	decided := slices.Concat(held, failed)
	axes := [][]float64{lists.Map(rates(decided), math.Log)}
	if loads := loads(decided); loads != nil {
		axes = append(axes, loads)
	}
	all := slices.Concat(axes...)
	const margin, points = .3, 400
	low, high := slices.Min(all)-margin, slices.Max(all)+margin
	var likelihoods, thresholds []float64
	for _, axis := range axes {
		for _, spread := range spreads {
			for i := range points + 1 {
				threshold := low + (high-low)*float64(i)/points
				likelihoods, thresholds = append(likelihoods, likelihood(decided, axis, threshold, spread)), append(thresholds, threshold)
			}
		}
	}
	most, total, mean := slices.Max(likelihoods), 0.0, 0.0
	for i, l := range likelihoods {
		weight := math.Exp(l - most)
		total, mean = total+weight, mean+weight*thresholds[i]
	}
	return math.Exp(mean / total), nil
}

// loads are the logarithms of the rates that would have loaded the machine as much as each
// probe did, had a request taken the mean CPU time of all; nil where the CPU time of one is
// unknown.
func loads(probes []Probe) (logs []float64) {
	mean := 0.0
	for _, p := range probes {
		if !(p.CPU > 0) {
			return nil
		}
		mean += math.Log(p.CPU) / float64(len(probes))
	}
	return lists.Map(probes, func(p Probe) float64 { return math.Log(p.Rate*p.CPU) - mean })
}

// likelihood is the logarithm of how likely a threshold makes the outcomes of probes that
// are at these places.
func likelihood(probes []Probe, at []float64, threshold, spread float64) (sum float64) {
	for n, p := range probes {
		holds := lapse + (1-2*lapse)/(1+math.Exp((at[n]-threshold)/spread))
		if p.Outcome == Failed {
			holds = 1 - holds
		}
		sum += math.Log(holds)
	}
	return sum
}

// AtShare is the rate at a share of the capacity that several blocks found: of their median.
func AtShare(share float64, found []float64) float64 {
	return bounded(share*stats.Median(found), math.Inf(1))
}

func atLeast(held []Probe) string {
	if len(held) == 0 {
		return "unknown"
	}
	return fmt.Sprintf("at least %.0f/s", slices.Max(rates(held)))
}

func with(probes []Probe, o Outcome) []Probe {
	return lists.Filter(probes, func(p Probe) bool { return p.Outcome == o })
}

func rates(probes []Probe) []float64 {
	return lists.Map(probes, func(p Probe) float64 { return p.Rate })
}
