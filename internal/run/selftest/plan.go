package selftest

import (
	_ "embed"
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
	answerTime = "answer"
	// usualSamples is how many samples the usual practice takes of each side, as
	// hyperfine does by default.
	usualSamples = 10
)

// load is a workload of which an exact amount is done.
type load struct {
	name   string
	driver workload.Step
	parser workload.Parser
	start  int64 // the first amount that is tried
	wait   bool  // it has the parameter of a delay
}

// work is dd, whose own clock excludes its start, so that 5% more operations are 5%
// more time.
var work = load{
	name: "work",
	driver: workload.Step{
		Run: "exec dd if=/dev/zero of=/dev/null bs=1 count=${operations} 2>&1",
		Env: []string{"LC_ALL=C"}, Role: "driver",
	},
	parser: workload.Parser{Name: "dd"}, start: 5000,
}

//go:embed requests.pl
var requestsScript string

// requests are those of a client to a server, one at a time. The server answers
// after a time that it measures, without sleeping, since timers are not exact. perl
// is in every image that tare builds; its clock is in none, so the system call
// clock_gettime is made by its number (x86_64, or that of all newer architectures).
var requests = load{
	name: "requests",
	driver: workload.Step{
		Run:  "exec perl -e '\n" + requestsScript + "' ${operations} ${answer}",
		Role: "driver",
	},
	parser: workload.Parser{Regex: []string{`^seconds (?P<seconds>[0-9.]+)`}}, start: 20, wait: true,
}

func (l *load) pack() *workload.Pack {
	least, shortest, most := 0.0, .001, 3600.0
	p := &workload.Pack{
		Name: packName, Title: "A counted amount of work", Stresses: "syscalls",
		Parameters: map[string]workload.Parameter{
			"time":     {Default: "0.6", Unit: "s", Min: &shortest, Max: &most, About: "how long a sample shall take"},
			operations: {Default: "0", Min: &least, About: "how many; 0: as many as take ${time}"},
		},
		// Client and server of requests take turns.
		Roles:   map[string]workload.Role{l.driver.Role: {Cores: "1"}},
		Driver:  &l.driver,
		Length:  &workload.Length{Time: "time", Sample: DefaultSample, Amount: operations, Start: l.start},
		Parser:  l.parser,
		Metrics: []workload.Metric{{Name: metric, Unit: "s", Better: "lower", Primary: true, About: "by the clock of the driver"}},
	}
	if l.wait {
		p.Parameters[answerTime] = workload.Parameter{Default: micros(answer), Unit: "us", Min: &least, About: "time until the server answers"}
	}
	return p
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

// load that the effect is one of.
func (e Effect) load() *load {
	if e.Delay > 0 {
		return &requests
	}
	return &work
}

func (t *Test) draft(s subject, with study.Setting) study.Draft {
	base := s.draft
	base.Name = baseline
	return study.Draft{
		Title: "tare selftest: " + s.name, Name: "selftest", Origin: "tare selftest", Baseline: baseline,
		Use: packName, Pack: s.load.pack(), Margin: t.options.Margin, Environments: []study.DraftEnvironment{base},
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
	for _, e := range s.effects {
		one := s.draft
		one.Name = e.environment
		if e.Quota > 0 {
			one.Limits = []study.Setting{{Key: "cpus", Value: strconv.FormatFloat(e.Quota, 'f', -1, 64)}}
		}
		if n := e.amount(amount); n != amount {
			one.With = []study.Setting{{Key: operations, Value: strconv.FormatInt(n, 10)}}
		}
		if e.Delay > 0 {
			one.With = []study.Setting{{Key: answerTime, Value: micros(answer + e.Delay)}}
		}
		d.Environments = append(d.Environments, one)
	}
	return d
}

// amount of work with the effect, where the baseline has that many operations.
func (e Effect) amount(base int64) int64 {
	return int64(math.Round(float64(base) * (1 + e.Work)))
}

// truth is the log ratio that the effect has, where the baseline has that many
// operations and takes that many seconds for them. That of a quota depends on the
// kernel's periods, so only its direction is known.
func (e Effect) truth(base int64, seconds float64) (log float64, known bool) {
	switch {
	case e.Quota > 0:
		return math.NaN(), false
	case e.Delay > 0:
		return math.Log1p(float64(base) * e.Delay.Seconds() / seconds), true
	}
	return math.Log(float64(e.amount(base)) / float64(base)), true
}

// Remark is about a time that cannot suffice; "" if it can.
func (t *Test) Remark() string {
	var least time.Duration
	for _, s := range t.subjects {
		p, err := t.alternating(s, 100, 0)
		if err != nil {
			return ""
		}
		least += 2 * time.Duration(p.Design.Blocks.Min*p.Design.Rounds*len(p.Environments)) * t.options.Sample // the first look, and the usual practice beside it
	}
	if t.options.Time < least {
		return fmt.Sprintf("--time %v is short: the samples before the first interim analyses alone take %v; fewer --effects or a shorter --sample need less", t.options.Time, least)
	}
	return ""
}
