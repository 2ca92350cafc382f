package selftest

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"tare/internal/study"
	"tare/internal/workload"
)

// The names in the plans.
const (
	packName   = "selftest"
	baseline   = "baseline"
	metric     = "seconds"
	operations = "operations"
	// usualSamples is how many samples the usual practice takes of each side, as
	// hyperfine does by default.
	usualSamples = 10
)

// pack is the work that is counted: dd, whose own clock excludes its start, so that
// 5% more operations are 5% more time.
func pack() *workload.Pack {
	least, shortest, most := 0.0, .001, 3600.0
	return &workload.Pack{
		Name: packName, Title: "A counted number of system calls (dd, one byte at a time)", Stresses: "syscalls",
		Parameters: map[string]workload.Parameter{
			"time":     {Default: "0.6", Unit: "s", Min: &shortest, Max: &most, About: "how long the loop shall take"},
			operations: {Default: "0", Min: &least, About: "how many reads and writes of a byte; 0: as many as take ${time}"},
		},
		Driver: &workload.Step{
			Run: "exec dd if=/dev/zero of=/dev/null bs=1 count=${" + operations + "} 2>&1",
			Env: []string{"LC_ALL=C"}, Role: "driver",
		},
		Length:  &workload.Length{Time: "time", Sample: DefaultSample, Amount: operations, Start: 5000},
		Parser:  workload.Parser{Name: "dd"},
		Metrics: []workload.Metric{{Name: metric, Unit: "s", Better: "lower", Primary: true, About: "by dd's clock"}},
	}
}

func (t *Test) draft(s subject, with study.Setting) study.Draft {
	base := s.draft
	base.Name = baseline
	return study.Draft{
		Title: "tare selftest: " + s.name, Name: "selftest", Origin: "tare selftest", Baseline: baseline,
		Use: packName, Pack: pack(), Margin: t.options.Margin, Environments: []study.DraftEnvironment{base},
		Parameters: []study.Setting{with},
	}
}

// probe is the plan that finds the amount of work of a sample.
func (t *Test) probe(s subject) (*study.Plan, error) {
	d := t.draft(s, study.Setting{Key: "sample", Value: t.options.Sample.String()})
	d.Blocks = 1
	return d.Resolve(study.Overrides{})
}

// alternating is the plan of a run as tare makes it, which ends with the verdicts.
func (t *Test) alternating(s subject, amount int64, budget time.Duration) (*study.Plan, error) {
	d := t.withEffects(s, amount)
	d.Order = study.Alternating
	return d.Resolve(study.Overrides{Budget: budget})
}

// usual is the plan of the usual practice: one instance of each environment, all of
// its samples, then the next environment.
func (t *Test) usual(s subject, amount int64) (*study.Plan, error) {
	d := t.withEffects(s, amount)
	d.Order, d.Fresh, d.Blocks = "sequential", "run", usualSamples
	return d.Resolve(study.Overrides{})
}

// withEffects is the environment once as the baseline and once with each effect.
func (t *Test) withEffects(s subject, amount int64) study.Draft {
	d := t.draft(s, study.Setting{Key: operations, Value: strconv.FormatInt(amount, 10)})
	for _, e := range t.effects {
		one := s.draft
		one.Name = e.environment
		if e.Quota > 0 {
			one.Limits = []study.Setting{{Key: "cpus", Value: strconv.FormatFloat(e.Quota, 'f', -1, 64)}}
		}
		if n := e.amount(amount); n != amount {
			one.With = []study.Setting{{Key: operations, Value: strconv.FormatInt(n, 10)}}
		}
		d.Environments = append(d.Environments, one)
	}
	return d
}

// amount of work with the effect, where the baseline has that many operations.
func (e Effect) amount(base int64) int64 {
	return int64(math.Round(float64(base) * (1 + e.Work)))
}

// truth is the log ratio that the effect has. That of a quota depends on the kernel's
// periods, so only its direction is known.
func (e Effect) truth(base int64) (log float64, known bool) {
	if e.Quota > 0 {
		return math.NaN(), false
	}
	return math.Log(float64(e.amount(base)) / float64(base)), true
}

// leastTime is how long the first interim analysis of an environment and the usual
// practice beside it take at least.
func (t *Test) leastTime(p *study.Plan) time.Duration {
	return 2 * time.Duration(p.Design.Blocks.Min*p.Design.Rounds*len(p.Environments)) * t.options.Sample
}

// Remark is about a time that cannot suffice; "" if it can.
func (t *Test) Remark() string {
	p, err := t.alternating(t.subjects[0], 100, 0)
	if err != nil {
		return ""
	}
	if least := t.leastTime(p) * time.Duration(len(t.subjects)); t.options.Time < least {
		return fmt.Sprintf("--time %v is short: the samples before the first interim analyses alone take %v; fewer --effects or a shorter --sample need less", t.options.Time, least)
	}
	return ""
}
