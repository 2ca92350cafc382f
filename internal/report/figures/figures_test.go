package figures

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/needs"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

func runs() map[string]model.Input {
	return map[string]model.Input{"quick": reporttest.Quick(), "ladder": reporttest.Ladder(), "nodes": reporttest.OnNodes("a", "b")}
}

func file(t *testing.T, files []model.File, name string) []byte {
	t.Helper()
	i := slices.IndexFunc(files, func(f model.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return files[i].Data
}

// texts are those of an SVG, which has nothing but shapes and texts.
func texts(t *testing.T, svg []byte) (all []string) {
	t.Helper()
	inText := false
	for in := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !slices.Contains([]string{"svg", "title", "text", "polygon", "polyline"}, token.Name.Local) {
				t.Errorf("an element %s", token.Name.Local)
			}
			inText = token.Name.Local == "text"
		case xml.CharData:
			if inText {
				all = append(all, string(token))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestTheMatrixHasEachVerdict(t *testing.T) {
	v := model.New(reporttest.Quick())
	files, err := SVG(v)
	if err != nil {
		t.Fatal(err)
	}
	have := texts(t, file(t, files, "figures/verdicts.svg"))
	for _, c := range v.Contrasts {
		if c.Primary && c.N > 0 && !slices.Contains(have, minus(model.EstimateText(&c))) {
			t.Errorf("%s %s %s in %s: no %s in %q", c.Workload, c.Level, c.Metric, c.Environment, model.EstimateText(&c), have)
		}
	}
}

func TestARunHasTheFiguresOfItsKind(t *testing.T) {
	for name, want := range map[string][]string{
		"quick":  {"figures/verdicts.pdf", "figures/levels-redis-get.pdf", "figures/ratios-redis-get.pdf", "figures/ratios-nginx-requests.pdf"},
		"ladder": {"figures/verdicts.pdf", "figures/ratios-nginx-requests-per-second.pdf", "figures/ladder-nginx-requests-per-second.pdf"},
	} {
		files, err := PDF(model.New(runs()[name]))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range want {
			if data := file(t, files, f); !bytes.HasPrefix(data, []byte("%PDF-")) {
				t.Errorf("%s: %s is no PDF", name, f)
			}
		}
	}
}

func TestEverythingLiesWithinItsFigure(t *testing.T) {
	for name, in := range runs() {
		for _, p := range draw(model.New(in)) {
			if p.width != column && p.width != page || p.height > 9.5*72 {
				t.Errorf("%s, %s: %.0f by %.0f points", name, p.name, p.width, p.height)
			}
			for _, s := range p.shapes {
				low, high := s.points[0].x, s.points[0].x
				if s.text != "" && !s.turned {
					w := widthOf(s.text, s.size)
					low -= map[anchor]float64{begins: 0, centred: w / 2, ends: w}[s.anchor]
					high = low + w
				}
				for _, q := range s.points {
					low, high = math.Min(low, q.x), math.Max(high, q.x)
					if math.IsNaN(q.x) || math.IsNaN(q.y) || q.y < -1 || q.y > p.height+1 {
						t.Errorf("%s, %s: a point at %v", name, p.name, q)
					}
				}
				if low < -1 || high > p.width+1 {
					t.Errorf("%s, %s: %q from %.1f to %.1f of %.1f", name, p.name, s.text, low, high, p.width)
				}
			}
		}
	}
}

func TestAFigureOfManyBlocksStaysSmall(t *testing.T) {
	in := reporttest.Ladder()
	once := in.Trials
	for n := 1; n < 200; n++ {
		for _, trial := range once {
			trial.Block += 15 * n
			in.Trials = append(in.Trials, trial)
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	files, err := SVG(model.New(in))
	if err != nil {
		t.Fatal(err)
	}
	if size := len(file(t, files, "figures/ratios-nginx-requests-per-second.svg")); size > 200<<10 {
		t.Errorf("%d bytes for 3000 blocks", size)
	}
}

func TestALongNameIsSetInTwoLines(t *testing.T) {
	lines := wrap("log path through a process of the engine's own", 90)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "log path") {
		t.Errorf("%q", lines)
	}
	for _, line := range append(lines, wrap(strings.Repeat("x", 200), 90)...) {
		if widthOf(line, textSize) > 92 {
			t.Errorf("%q is too wide", line)
		}
	}
}

func TestNamesDoNothingInAFigure(t *testing.T) {
	in := reporttest.Quick()
	const hostile = `<script>"&'` + "\u202e\n\x00𝔘%_#"
	for i := range in.Trials {
		if in.Trials[i].Workload == "nginx" {
			in.Trials[i].Workload += hostile
		}
	}
	in.Plan.Workloads = slices.Clone(in.Plan.Workloads)
	for i := range in.Plan.Workloads {
		if in.Plan.Workloads[i].Name == "nginx" {
			in.Plan.Workloads[i].Name += hostile
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	v := model.New(in)
	files, err := SVG(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Trim(strings.TrimPrefix(f.Name, "figures/"), "abcdefghijklmnopqrstuvwxyz-0123456789.") != "" {
			t.Errorf("a file %q", f.Name)
		}
		texts(t, f.Data)
	}
	if have := strings.Join(texts(t, file(t, files, "figures/verdicts.svg")), "\n"); !strings.Contains(have, "nginx<script>") {
		t.Errorf("the name is not in the matrix:\n%s", have)
	}
	if _, err := PDF(v); err != nil {
		t.Error(err)
	}
}

func TestFilesHaveNamesOfTheirOwn(t *testing.T) {
	for given, want := range map[string]string{"ratios-a b/c-get_p99": "ratios-a-b-c-get-p99", "x-../..-y": "x-y", "ladder--": "ladder", "v1.2": "v1.2"} {
		if have := model.FileName(given); have != want {
			t.Errorf("%q is %q, not %q", given, have, want)
		}
	}
}

func TestARunWithoutResultsHasNoFigures(t *testing.T) {
	in := model.Input{Plan: &study.Plan{Study: "nothing", Baseline: "native", Environments: []study.Environment{{Name: "native"}, {Name: "docker"}},
		Workloads: []study.Workload{{Name: "w", Levels: []study.Level{{}}}}}, Manifest: rundir.Manifest{}}
	for _, export := range []func(*model.Report) ([]model.File, error){SVG, PDF} {
		if files, err := export(model.New(in)); err != nil || len(files) != 0 {
			t.Errorf("%d files, %v", len(files), err)
		}
	}
}

func TestAPDFIsReadByOthersWithTextAndItsFont(t *testing.T) {
	needs.Program(t, "pdftotext", "pdffonts", "pdfinfo")
	v := model.New(reporttest.Quick())
	files, err := PDF(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "verdicts.pdf")
	if err := os.WriteFile(path, file(t, files, "figures/verdicts.pdf"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ program, want string }{{"pdftotext", "sysbench-memory"}, {"pdftotext", "×13.9"}, {"pdffonts", "yes no  yes"}, {"pdfinfo", fmt.Sprintf("Page size:       %.1f x", column)}} {
		arguments := []string{path}
		if c.program == "pdftotext" {
			arguments = append(arguments, "-")
		}
		out, err := exec.Command(c.program, arguments...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, no %q in\n%s", c.program, err, c.want, out)
		}
	}
}

func TestAPDFOfARunWithoutATimeHasNoneOfNow(t *testing.T) {
	files, err := PDF(model.New(reporttest.Ladder()))
	if err != nil {
		t.Fatal(err)
	}
	if data := file(t, files, "figures/verdicts.pdf"); !bytes.Contains(data, []byte("D:19700101000000")) {
		t.Errorf("%q", data[max(0, len(data)-1200):])
	}
}

func TestWhatAConfoundAffectsIsMarkedInEachFigure(t *testing.T) {
	for name, in := range runs() {
		for _, marked := range []bool{false, true} {
			if marked {
				for i := range in.Contrasts {
					in.Contrasts[i].Warnings = append(in.Contrasts[i].Warnings, verdict.Warning{Code: verdict.Confound})
				}
			}
			for _, p := range draw(model.New(in)) {
				if strings.HasPrefix(p.name, "ladder-") {
					continue // of contrasts of its own
				}
				has := slices.ContainsFunc(p.shapes, func(s shape) bool { return s.text == confounded })
				if has != marked {
					t.Errorf("%s, %s: the mark is explained: %v, not %v", name, p.name, has, marked)
				}
			}
		}
	}
}

func TestLevelsThatHaveNoRoomAreNumbered(t *testing.T) {
	s := steps{texts: []string{"clients=1,mode=a", "clients=2,mode=b"}}
	if key := s.numbered(100); key != nil || s.texts[0] != "clients=1,mode=a" {
		t.Errorf("%q, %v", s.texts, key)
	}
	key := s.numbered(30)
	if len(key) != 2 || s.texts[1] != "2" || key[1].text != "2: clients=2,mode=b" {
		t.Errorf("%q, %v", s.texts, key)
	}
}

// The same environment looks the same with and without a ladder to it.
func TestStepsOfALadderHaveNoColours(t *testing.T) {
	v := model.New(reporttest.Ladder())
	for name, of := range identities(v) {
		if (name == v.Plan.Baseline) != (of.symbol == 0) || of.symbol > len(v.Compared()) {
			t.Errorf("%s has symbol %d", name, of.symbol)
		}
	}
}
