package prices

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/report/model"
	"tare/internal/rundir"
)

// Gap is what an environment adds to the CPU time of an operation, in nanoseconds: as
// predicted, and as measured.
type Gap struct {
	Workload    string  `json:"workload"`
	Environment string  `json:"environment"`
	Native      float64 `json:"native_cpu_ns"`
	Predicted   Amount  `json:"predicted_more_cpu_ns"`
	// Expected is where a measurement lies if the prediction holds. Its interval has the
	// noise of that measurement too.
	Expected Amount `json:"expected_more_cpu_ns"`
	Measured Amount `json:"measured_more_cpu_ns"`
	// Within says whether the measured value is in the expected interval; nil where there is none.
	Within *bool `json:"within"`
	// Off is the predicted CPU time of an operation over the measured one, less one.
	Off float64 `json:"off"`
	// Explained is the share of the measured that the prices explain, at most 1; nil where
	// nothing is added for certain.
	Explained *float64 `json:"explained"`
	// Largest item of the prediction.
	Largest string `json:"largest,omitempty"`
	// Incomparable says why the measured is no measure of the prediction.
	Incomparable string `json:"incomparable,omitempty"`

	prediction Prediction
	profile    Profile
}

// Gaps of the environments that were measured and have a prediction.
func (p Profile) Gaps(all []Prediction) (gaps []Gap) {
	for _, m := range p.Measured {
		one := predictionFor(all, m)
		if one == nil {
			continue
		}
		g := Gap{
			Workload: p.Workload, Environment: m.Environment, Native: p.CPU.Estimate, Predicted: one.MoreCPU, Expected: p.expected(one.MoreCPU),
			Measured: m.MoreCPU, Incomparable: m.Incomparable, prediction: *one, profile: p,
		}
		g.Off = (g.Native+g.Predicted.Estimate)/(g.Native+g.Measured.Estimate) - 1
		if g.Expected.bounded() {
			within := *g.Expected.Low <= m.MoreCPU.Estimate && m.MoreCPU.Estimate <= *g.Expected.High
			g.Within = &within
		}
		if g.adds() {
			share := max(0, min(1, g.Predicted.Estimate/g.Measured.Estimate))
			g.Explained = &share
		}
		if len(one.Items) > 0 {
			g.Largest = p.inWords(one.Items[0])
		}
		gaps = append(gaps, g)
	}
	return gaps
}

// predictionFor is the one of an environment that was measured; nil for none.
func predictionFor(all []Prediction, m Measured) *Prediction {
	for _, same := range []func(Prediction) bool{
		func(one Prediction) bool { return one.Environment == m.Environment },
		func(one Prediction) bool { return one.Kind != "" && one.Kind == m.Kind && one.Options == m.Options },
		func(one Prediction) bool { return one.Kind != "" && one.Kind == m.Kind && one.Options == "" },
	} {
		if at := slices.IndexFunc(all, same); at >= 0 {
			return &all[at]
		}
	}
	return nil
}

// expected is the interval of a new measurement of what was predicted. A measurement is a
// difference of two means, natively and there, and each of them varies, relative to its value,
// as the native one of the program did.
func (p Profile) expected(predicted Amount) Amount {
	made := Amount{Estimate: predicted.Estimate}
	if !predicted.bounded() || !p.CPU.bounded() || !(p.CPU.Estimate > 0) {
		return made
	}
	there := max(0, p.CPU.Estimate+predicted.Estimate) / p.CPU.Estimate
	below, above := p.CPU.Estimate-*p.CPU.Low, *p.CPU.High-p.CPU.Estimate
	low := predicted.Estimate - norm(predicted.Estimate-*predicted.Low, below*there, above)
	high := predicted.Estimate + norm(*predicted.High-predicted.Estimate, above*there, below)
	made.Low, made.High = &low, &high
	return made
}

// norm adds up errors that are independent.
func norm(a, b, c float64) float64 { return math.Hypot(math.Hypot(a, b), c) }

// adds says whether the environment adds something, and it can be compared.
func (g Gap) adds() bool {
	return g.Measured.Estimate > 0 && !g.Measured.holdsZero() && g.Incomparable == ""
}

// Gaps are those of all workloads of a run of which one operation was counted, or traced in the
// baseline. Without says of each other workload that was to be, why it has none.
func (l List) Gaps(r *rundir.Run) (gaps []Gap, without []string) {
	if r.Plan.Sampling.Traced == 0 && r.Plan.Environment(Counted) == nil {
		return nil, nil // nothing was to be counted
	}
	contrasts := model.Contrasts(r)
	for _, workload := range r.Plan.Workloads {
		if notCounted(workload) != "" {
			continue
		}
		p, err := ProfileOf(r, workload, contrasts)
		if err != nil {
			without = append(without, fmt.Sprintf("The price list says nothing of %s: %v.", workload.Name, err))
			continue
		}
		gaps = append(gaps, p.Gaps(l.Predict(p))...)
	}
	return gaps, without
}

// far is how many times a gap is more than predicted, or less, that is a finding.
const far = 1.5

// Sentence says how much of the gap the prices explain; "" where nothing is added.
func (g Gap) Sentence() string {
	if !g.adds() {
		return ""
	}
	predicted, gap := g.Predicted, g.Measured
	text := fmt.Sprintf("By the price list of this machine, %s would add %s%s to the CPU time of an operation of %s; it adds %s%s: ",
		g.Environment, predicted.estimate(), spaced(predicted), g.Workload, gap.estimate(), spaced(gap))
	ratio := gap.Estimate / predicted.Estimate
	switch {
	case (ratio > far || !(ratio > 1/far)) && meet(g.Expected, gap):
		text += "the intervals are too wide to say more."
	case !(ratio > 0):
		text += "the prices do not explain it."
	case ratio > far:
		text += model.Figure(gap.Estimate-predicted.Estimate, nano) + " of it has no price (caches, contention, the disk, or what the list leaves out)."
	case ratio < 1/far:
		text += "less than calls one by one would cost."
	default:
		text += fmt.Sprintf("the prices explain %s of it.", model.Percent(*g.Explained))
	}
	return text + " " + g.prediction.sentence(g.profile)
}

// meet says whether two intervals do.
func meet(a, b Amount) bool {
	return a.bounded() && b.bounded() && *a.Low <= *b.High && *b.Low <= *a.High
}

func (a *Amount) holdsZero() bool { return a.bounded() && *a.Low <= 0 && *a.High >= 0 }

func spaced(a Amount) string {
	if !a.bounded() {
		return ""
	}
	return " " + a.interval()
}
