package reporttest

import (
	"encoding/json"
	"time"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

func quickPlan() *study.Plan {
	limits := environment.Limits{CPUs: 2, Memory: 512 * quantity.MiB, Cores: []int{0, 1}}
	p := &study.Plan{Format: 1, Study: "quick: what isolation costs", Name: "quick", Origin: "built-in:quick", Baseline: "native",
		Image: image.Source{}, Limits: limits, Pin: map[string][]int{"server": {0}, "driver": {1}}, Seed: 1732153500,
		Design: study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: QuickBlocks}, Margin: .02, Confidence: .95, Precision: .25, Family: "metric", Drop: "decided", Budget: 8 * time.Minute}}
	for _, e := range [][3]string{
		{"native", "native", `{"rootfs":"image"}`}, {"docker", "docker", `{"runtime":"runc","network":"bridge","log":"json-file"}`},
		{"gvisor", "gvisor", `{"platform":"systrap"}`}, {"vm", "qemu", `{"machine":"q35","accel":"auto"}`}, {"podman", "podman", `{"runtime":"crun"}`}} {
		p.Environments = append(p.Environments, study.Environment{Name: e[0], Kind: e[1], Options: json.RawMessage(e[2]), Limits: limits})
	}
	for _, w := range fakeWorkloads {
		pack := workload.Pack{Name: w.name, Title: w.title, Stresses: w.stresses, Startup: w.name == "startup"}
		if w.driver != "" {
			pack.Driver = &workload.Step{Run: w.driver, Role: "driver"}
		}
		if w.name == "redis" {
			pack.Servers = []workload.Server{{Step: workload.Step{Argv: []string{"redis-server", "--save", "", "--bind", "127.0.0.1"}, Role: "server"}, Ready: agent.Probe{TCP: "127.0.0.1:6379"}}}
			pack.Parameters = map[string]workload.Parameter{"clients": {Default: "50"}}
		}
		for _, m := range w.metrics {
			pack.Metrics = append(pack.Metrics, m.Metric)
		}
		if w.name != "startup" {
			pack.Operations = "operations"
			pack.Metrics = append(pack.Metrics, workload.Metric{Name: "operations", Unit: "op", Better: "higher"})
			for _, c := range cost.Asked(false, false, nil) {
				pack.Metrics = append(pack.Metrics, workload.Metric{Name: c.Name, Unit: c.Unit, Better: "lower", About: c.About})
			}
		}
		sw := study.Workload{Name: w.name, Pack: pack, Fresh: "block"}
		if w.fresh != "" {
			sw.Fresh = w.fresh
		}
		for _, l := range w.levels {
			sw.Levels = append(sw.Levels, study.Level{Name: l, Parameters: map[string]string{"clients": l[len("clients="):]}})
		}
		if sw.Levels == nil {
			sw.Levels = []study.Level{{}}
		}
		p.Workloads = append(p.Workloads, sw)
	}
	return p
}

func quickManifest(began time.Time) rundir.Manifest {
	return rundir.Manifest{Format: 1, Run: "quick-20261121-014500", Tare: "0.1.0", Command: []string{"tare", "run", "quick", "--budget", "8m"}, Created: began,
		Machine: rundir.Machine{Kernel: "6.1.0-28-amd64", Distribution: "Debian GNU/Linux 12 (bookworm)", CPU: "Intel(R) Xeon(R) Processor @ 2.60GHz", Cores: 2, Memory: 24 * quantity.GiB, Cgroups: "hybrid", Virtualised: "kvm"},
		Noise: []environment.Finding{
			{State: environment.Caveat, What: "a quiet machine", Reason: "PSI cpu was 38 over the last minute: something waited for a CPU in 38% of the time", Fix: environment.Advice("stop what else runs here, or give more blocks")},
			{State: environment.Caveat, What: "a fixed clock frequency", Reason: "no cpufreq here: the hypervisor decides"},
			{State: environment.Usable, What: "swap is off"},
		},
		Image: rundir.ImageFacts{Name: "quick", Digest: "sha256:4f0cbb2c9f4ed8d1a6a0f3f1f9e3f8f7dd3b1f6a50c0f2f4d7f1c5a9e0b3d2c1"},
		Environments: map[string]rundir.EnvironmentFacts{
			"native": {State: environment.Usable, Versions: map[string]string{"kernel": "6.1.0-28-amd64"}},
			"docker": {State: environment.Usable, Versions: map[string]string{"dockerd": "20.10.24", "containerd": "1.6.20", "runc": "1.1.5"}},
			"gvisor": {State: environment.Usable, Versions: map[string]string{"runsc": "v0.0.0-20260905035102-160fafc42237"}, Notes: []string{"the memory limit is kept by the sandbox, not by the kernel inside it"}},
			"vm": {State: environment.Caveat, Label: "tcg", Versions: map[string]string{"qemu": "7.2.9", "guest kernel": "6.1.0-28-cloud-amd64"},
				Findings: []environment.Finding{{State: environment.Caveat, What: "hardware virtualisation", Reason: "/dev/kvm answers, but a counted loop ran 2.1 million instructions a second: the guest is interpreted", Fix: environment.Advice("run on a machine with VT-x or AMD-V, or with nested virtualisation")}}},
			"podman": {State: environment.Missing, Findings: []environment.Finding{
				{State: environment.Usable, What: "the podman program"},
				{State: environment.Missing, What: "an OCI runtime that starts here", Reason: "crun 1.8.1 refuses the hybrid cgroup hierarchy: \"cgroups in hybrid mode not supported\"", Fix: environment.Advice("apt-get install runc")}}},
		},
		Sessions: []rundir.Session{{Started: began, Ended: began.Add(9 * time.Minute), Stopped: "all verdicts are reached"}},
	}
}
