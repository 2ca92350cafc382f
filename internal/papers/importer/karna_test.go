package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/schematest"
	"tare/internal/verdict"
	"tare/internal/verdict/anomaly"
)

// sharedData is where the published logs of the study lie, if they do.
func sharedData(t *testing.T) string {
	t.Helper()
	directory := os.Getenv("TARE_SHARED_DATA")
	if directory == "" {
		directory = "../../../../shared/data"
	}
	directory, err := filepath.Abs(filepath.Join(directory, "karna-2021"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(directory); err != nil {
		t.Skip("needs the study's logs: set TARE_SHARED_DATA to the directory that holds karna-2021")
	}
	return directory
}

// documented is the manifest that the documentation shows.
func documented(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../../docs/how-to/import.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```yaml\n")
	manifest, _, ended := strings.Cut(after, "```")
	if !found || !ended {
		t.Fatal("docs/how-to/import.md shows no manifest")
	}
	return []byte(manifest)
}

// The logs hold surprises that the study's means do not show.
func TestTheDocumentedManifestFindsWhatThePublishedLogsHide(t *testing.T) {
	data, directory := sharedData(t), t.TempDir()
	for _, name := range []string{"cpu", "network", "boot"} {
		if err := os.Symlink(filepath.Join(data, name), filepath.Join(directory, name)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := decodeManifest(filepath.Join(directory, "karna.yaml"), documented(t))
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Import(Options{Directory: filepath.Join(directory, "run"), Now: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := rundir.Open(result.Directory)
	if err != nil {
		t.Fatal(err)
	}
	if result.Results != 200 || result.Failed != 0 || result.Files != 20 || result.Order != rundir.ImportSequential || len(run.Trials) != 200 {
		t.Errorf("%+v, %d trials", result, len(run.Trials))
	}
	for _, trial := range run.Trials {
		file, err := os.ReadFile(filepath.Join(result.Directory, trial.Raw[0].Path))
		original, _ := os.ReadFile(trial.Source.File)
		if err != nil || string(file) != string(original) || trial.Source.Result != trial.Block {
			t.Fatalf("%+v: %v", trial, err)
		}
	}
	for _, f := range run.Manifest.Import.Files {
		// Both ways of writing the offset are one time: the first result of a
		// network test says it once more.
		if i := slices.IndexFunc(run.Trials, func(t rundir.Trial) bool { return t.Source.File == f.File && t.Source.Timed }); i >= 0 {
			if d := run.Trials[i].Started.Sub(f.Taken); d < 0 || d > time.Minute {
				t.Errorf("%s: the name says %s and the first result %s", f.File, f.Taken, run.Trials[i].Started)
			}
		}
	}
	for _, c := range verdict.Contrasts(run.Plan, run.Trials, run.Manifest) {
		if c.Verdict != verdict.None || !c.Unpaired || c.N != 10 && c.Metric != "retransmits" {
			t.Errorf("%s %s %s: %s, n=%d", c.Workload, c.Metric, c.Environment, c.Verdict, c.N)
		}
	}
	found := map[string]bool{}
	for _, f := range anomaly.Run(run.Plan, run.Trials, run.Manifest.Import) {
		found[strings.Join([]string{f.Code, f.Environment, f.Workload}, " ")] = true
	}
	for _, want := range []string{
		"two-modes docker sysbench-cpu", "two-modes docker-gvisor sysbench-cpu", "alone metal sysbench-cpu", "spread  sysbench-cpu",
		"same-best docker sysbench-cpu", "drift docker-gvisor tcp", "shared-limit  tcp", "constant  udp", "two-modes vm boot", "apart  boot",
	} {
		if !found[want] {
			t.Errorf("not found: %s", want)
		}
	}
}

func TestClientAndServerOfOneTestAreNotTwoResults(t *testing.T) {
	data := sharedData(t)
	found, err := filepath.Glob(filepath.Join(data, "network", "*metal-bandwidth*.log"))
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	pack, err := toolOf("iperf3", nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filesOf(found, "metal", fileNames{})
	if err != nil {
		t.Fatal(err)
	}
	r := &Request{Margin: study.DefaultMargin, Confidence: study.DefaultConfidence, Fresh: unknownFresh}
	r.Batches = []Batch{{Tool: "iperf3", Pack: pack, Workload: "w", Files: files}}
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := r.Import(Options{Directory: directory}); err == nil || !strings.Contains(err.Error(), "reported by the other side") {
		t.Errorf("both sides in one workload: %v", err)
	}
	if _, err := os.Stat(directory); err == nil {
		t.Error("a directory was made")
	}
}

func TestTheDocumentedManifestIsValidByItsSchema(t *testing.T) {
	if err := schematest.Validate(t, "import-manifest.schema.json", documented(t)); err != nil {
		t.Error(err)
	}
}
