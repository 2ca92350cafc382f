package workload

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hplPrints is what hpl-solve prints on a machine of two cores with a clock of 3.2 GHz and
// these features, where HPL finds 45.9 Gflop/s.
func hplPrints(t *testing.T, features string) string {
	pack, err := Find("hpl")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("cpuinfo", "processor : 0\n"+features+"\n\nprocessor : 1\n"+features+"\n", 0o600)
	write("status", "Cpus_allowed_list:\t0-1\n", 0o600)
	write("hpl", "#!/bin/sh\necho 'WR11C2R4 2000 192 1 1 0.12 4.59e+01'\n", 0o755)
	script := ""
	for _, f := range pack.Image.Files {
		if strings.HasSuffix(f.Path, "/hpl-solve") {
			script = strings.NewReplacer("/proc/cpuinfo", root+"/cpuinfo", "/proc/self/status", root+"/status", "/data/hpl", root).Replace(f.Content)
		}
	}
	command := exec.Command("bash", "-c", script, "hpl-solve", "2000", "192", "1", "1", "2", "3200")
	command.Env = append(os.Environ(), "PATH="+root+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestThePeakOfACoreFollowsItsVectorUnits(t *testing.T) {
	for features, want := range map[string]string{
		"Features : fp asimd aes":        "efficiency 0.896484 of 51.2 Gflop/s: 2 cores x 3200 MHz x 8",
		"flags : sse2":                   "of 25.6 Gflop/s: 2 cores x 3200 MHz x 4",
		"flags : sse2 avx":               "x 3200 MHz x 8",
		"flags : sse2 avx avx2 fma":      "x 3200 MHz x 16",
		"flags : sse2 avx2 fma avx512f ": "x 3200 MHz x 32",
		"flags : none":                   "efficiency unknown",
	} {
		if got := hplPrints(t, features); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", features, got, want)
		}
	}
}
