package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

var pageWide = regexp.MustCompile(`/MediaBox \[0 0 504\.`)

// paper is a document of two columns with all that a run exports for LaTeX.
func paper(t *testing.T, in model.Input) (directory string) {
	t.Helper()
	directory = t.TempDir()
	body := ""
	for _, name := range []string{"tex", "bib", "pdf"} {
		f, _ := Find(name)
		files, err := f.Files(in, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range files {
			if err := rundir.Replace(directory, one.Name, one.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			switch {
			case one.Name == "methods.tex":
				body += "\\section{Method}\n\\input{methods}\n"
			case one.Name == "table-verdicts.tex":
				body += "\\begin{table*}\\centering\\caption{Verdicts}\\input{table-verdicts}\\end{table*}\n"
			case strings.HasSuffix(one.Name, ".tex"):
				body += fmt.Sprintf("\\begin{table}\\centering\\caption{\\detokenize{%s}}\\input{%[1]s}\\end{table}\n", strings.TrimSuffix(one.Name, ".tex"))
			case strings.HasSuffix(one.Name, ".pdf"):
				star := ""
				if pageWide.Match(one.Data) {
					star = "*"
				}
				body += fmt.Sprintf("\\begin{figure%s}\\centering\\includegraphics{%s}\\caption{\\detokenize{%[2]s}}\\end{figure%[1]s}\n", star, strings.TrimSuffix(one.Name, ".pdf"))
			}
		}
	}
	text := "\\documentclass[twocolumn,10pt]{article}\n\\usepackage[margin=0.72in,columnsep=0.24in]{geometry}\n\\usepackage[T1]{fontenc}\n\\usepackage{booktabs,siunitx,graphicx}\n\\extrafloats{100}\n\\begin{document}\n" +
		body + "\\bibliographystyle{plain}\\bibliography{references}\n\\end{document}\n"
	if err := os.WriteFile(filepath.Join(directory, "paper.tex"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return directory
}

// compiled is the log of pdfLaTeX and the text of the PDF. No command of a document starts
// a program or reads and writes elsewhere.
func compiled(t *testing.T, directory string) (log, text string) {
	t.Helper()
	run := func(name string, arguments ...string) string {
		command := exec.Command(name, arguments...)
		command.Dir, command.Env = directory, append(os.Environ(), "openin_any=p", "openout_any=p")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out[max(0, len(out)-3000):])
		}
		return string(out)
	}
	// The bibliography is made before, of all sources, and the first pass writes no PDF.
	cites := "\\citation{*}\n\\bibstyle{plain}\n\\bibdata{references}\n"
	if err := os.WriteFile(filepath.Join(directory, "paper.aux"), []byte(cites), 0o600); err != nil {
		t.Fatal(err)
	}
	run("bibtex", "paper")
	latex := []string{"-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper"}
	run("pdflatex", slices.Concat([]string{"-draftmode"}, latex)...)
	log = run("pdflatex", latex...)
	if copied := os.Getenv("TARE_PAPER"); copied != "" {
		run("cp", "paper.pdf", filepath.Join(copied, strings.ReplaceAll(t.Name(), "/", "-")+".pdf"))
	}
	return log, run("pdftotext", "-layout", "paper.pdf", "-")
}

var tooWide = regexp.MustCompile(`Overfull \\hbox \(([0-9.]+)pt too wide\) in paragraph[^\n]*\n[^\n]*`)

func TestLaTeXMakesAPaperOfARun(t *testing.T) {
	needs.Program(t, "pdflatex", "bibtex", "pdftotext")
	if out, err := exec.Command("kpsewhich", "siunitx.sty").Output(); err != nil || len(out) == 0 {
		t.Skip("needs LaTeX's siunitx: kpsewhich does not find siunitx.sty")
	}
	for name, in := range map[string]model.Input{"quick": reporttest.Quick(), "ladder": reporttest.Ladder(), "nodes": reporttest.OnNodes("node_a", "node-b"), "long names": withLongNames(reporttest.Quick())} {
		t.Run(name, func(t *testing.T) {
			log, text := compiled(t, paper(t, in))
			want := map[string][]string{"quick": {"get, k requests/s, higher is better", "slower", "−8.2", "×13.9", "vm [tcg]", "Hodges", "did not run on this machine"}, "ladder": {"seccomp filter", "total −26.4"}, "long names": {"docker-with-a-network-namespace-of-its-own", "something besides the layer di", "slower†"}}[name]
			if name == "nodes" {
				want = []string{"The blocks ran on 2 nodes", "Paule"}
			}
			plain := strings.Join(strings.Fields(text), " ")
			for _, w := range want {
				if !strings.Contains(plain, w) {
					t.Errorf("no %q in the paper", w)
				}
			}
			for _, wrong := range append(tooWide.FindAllString(log, -1), regexp.MustCompile(`(?m)^LaTeX Warning: (Citation|Reference).*`).FindAllString(log, -1)...) {
				t.Errorf("%s", wrong)
			}
			if t.Failed() {
				t.Logf("%s", text)
			}
		})
	}
}

// withLongNames renames all environments and a workload, and has a confound.
func withLongNames(in model.Input) model.Input {
	longer := func(name string) string { return name + "-with-a-network-namespace-of-its-own" }
	in.Plan.Baseline = longer(in.Plan.Baseline)
	facts := map[string]rundir.EnvironmentFacts{}
	for i := range in.Plan.Environments {
		e := &in.Plan.Environments[i]
		facts[longer(e.Name)] = in.Manifest.Environments[e.Name]
		e.Name = longer(e.Name)
	}
	in.Manifest.Environments = facts
	work := in.Plan.Workloads[0].Name
	in.Plan.Workloads[0].Name = longer(work)
	for i := range in.Trials {
		in.Trials[i].Environment = longer(in.Trials[i].Environment)
		if in.Trials[i].Workload == work {
			in.Trials[i].Workload = longer(work)
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	for i := range in.Contrasts {
		in.Contrasts[i].Warnings = append(in.Contrasts[i].Warnings, verdict.Warning{Code: verdict.Confound, Told: "something besides the layer differs from native: huge pages"})
	}
	return in
}

func TestHostileTextDoesNothingInLaTeX(t *testing.T) {
	needs.Program(t, "pdflatex", "bibtex", "pdftotext")
	if out, err := exec.Command("kpsewhich", "siunitx.sty").Output(); err != nil || len(out) == 0 {
		t.Skip("needs LaTeX's siunitx: kpsewhich does not find siunitx.sty")
	}
	for _, name := range []string{`\input{/etc/passwd}\write18{touch FORGED}`, `50% of {$a_1^2$} & ~b #1 \\ [x] *`, "a\n\\end{tabular}\r\nFORGED", "日本 ☃ 𝔘 é ß µ \u202e --- ?` !` ff\"<<x>>,,`'", `^^5cinput FORGED`} {
		t.Run("", func(t *testing.T) {
			in := reporttest.Ladder()
			in.Manifest.Tare, in.Manifest.Run = name, name
			for i := range in.Plan.Environments {
				if e := &in.Plan.Environments[i]; e.Name == "docker" {
					facts := in.Manifest.Environments[e.Name]
					facts.Label, facts.Versions = name, map[string]string{name: name}
					in.Manifest.Environments[e.Name] = facts
				}
			}
			for i := range in.Plan.Steps {
				in.Plan.Steps[i].Name += name
			}
			rename := func(s *string) { *s += name }
			rename(&in.Plan.Workloads[0].Name)
			rename(&in.Plan.Workloads[0].Pack.Metrics[0].Unit)
			for i := range in.Trials {
				rename(&in.Trials[i].Workload)
			}
			in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
			directory := paper(t, in)
			_, text := compiled(t, directory)
			if strings.Contains(text, "root:x:") {
				t.Error("it read a file of this machine")
			}
			if _, err := os.Stat(filepath.Join(directory, "FORGED")); err == nil {
				t.Error("it ran a program")
			}
			if plain := strings.Join(strings.Fields(text), ""); strings.Contains(name, "write18") && !strings.Contains(plain, `\write18{touchFORGED}`) {
				t.Errorf("the name is not printed as it is: %s", text)
			}
		})
	}
}
