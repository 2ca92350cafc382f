package reporttest

import (
	"tare/internal/parity"
	"tare/internal/report/model"
	"tare/internal/rundir"
)

// Unfair is the fixture with fingerprints: docker logs through its engine and has
// its data in an overlay, the virtual machine's disk ignores syncs, and gVisor
// differs in nothing but itself.
func Unfair() model.Input {
	in := Quick()
	r := &rundir.Run{Manifest: in.Manifest, Plan: in.Plan, Trials: in.Trials, Directory: in.Directory}
	host := map[string]string{
		"kernel.release": "6.1.0-28-amd64", "namespace[net]": "the host's", "seccomp.mode": "off", "log.driver": "none", "log.channel": "pipe",
		"path[/].filesystem": "ext4", "path[/data].filesystem": "ext4", "path[/data].source": "directory", "sysctl[net.ipv4.tcp_congestion_control]": "bbr",
		"cpu.flags": "aes avx avx2 sse2", "memory.thp": "madvise",
	}
	others := map[string]map[string]string{
		"native": {},
		"docker": {"namespace[net]": "own", "seccomp.mode": "filter", "log.driver": "json-file", "log.channel": "the engine's attach", "path[/].filesystem": "overlay", "path[/data].filesystem": "overlay", "path[/data].source": "none"},
		"gvisor": {"kernel.release": "4.19.0-gvisor", "namespace[net]": "own kernel", "path[/].filesystem": "overlay", "path[/data].filesystem": "9p", "sysctl[net.ipv4.tcp_congestion_control]": "reno", "memory.thp": ""},
		"vm":     {"kernel.release": "6.1.0-28-cloud-amd64", "namespace[net]": "own kernel", "disk.cache": "unsafe", "path[/data].source": "/dev/vdb", "cpu.flags": "aes sse2 svm", "memory.thp": "never", "sysctl[net.ipv4.tcp_congestion_control]": "cubic"},
	}
	for _, e := range in.Plan.Environments {
		own, ran := others[e.Name]
		for _, w := range in.Plan.Workloads {
			if !ran || w.Name == "startup" {
				continue
			}
			f := parity.Fingerprint{Environment: e.Name, Workload: w.Name, Facts: map[string]parity.Fact{}}
			for _, facts := range []map[string]string{host, own} {
				for key, value := range facts {
					f.Facts[key] = parity.Fact{Value: value, Seen: parity.Inside}
				}
			}
			if own["memory.thp"] == "" && e.Name == "gvisor" {
				f.Facts["memory.thp"] = parity.Fact{Missing: "no such file", Seen: parity.Inside}
			}
			r.Fingerprints = append(r.Fingerprints, f)
		}
	}
	judged := model.Of(r, model.Fairness(r).Mark(in.Contrasts))
	judged.Directory = in.Directory
	return judged
}
