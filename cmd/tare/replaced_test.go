package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	papers "tare/internal/papers/published"
	"tare/internal/study"
	"tare/internal/workload"
	"tare/studies"
)

// commentOf is what a built-in study says above its first key, on one line.
func commentOf(t *testing.T, name string) string {
	t.Helper()
	data, err := studies.Files.ReadFile(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(data), "\nstudy:")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n#", " ")), " ")
}

func sourceOf(t *testing.T, name string) *papers.Study {
	t.Helper()
	s, err := papers.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The web application and the project of karna-2021 need accounts, and are no longer to be
// had: what stands in their place is said in the study and beside each printed table.
func TestWhatStandsInPlaceOfASourcesProgramsIsSaid(t *testing.T) {
	for _, c := range []struct{ workload, there, here, programs string }{
		{"wordpress-ab", "GitLab", "WordPress", "wordpress"},
		{"ci-pipeline", "students", "GoogleTest", "googletest"},
	} {
		if says := commentOf(t, "karna-2021"); !strings.Contains(says, c.there) || !strings.Contains(says, c.here) {
			t.Errorf("karna-2021 does not say that it has %s in place of %s: %s", c.here, c.there, says)
		}
		pack, err := workload.Builtin(c.workload)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(pack.Image.Packages, c.programs) {
			t.Errorf("%s has the packages %q, without %s", c.workload, pack.Image.Packages, c.programs)
		}
		beside := 0
		for _, table := range sourceOf(t, "karna-2021").Tables {
			for _, m := range table.Measures {
				if m.Workload != c.workload {
					continue
				}
				if beside++; !strings.Contains(m.Caution, c.there) || !strings.Contains(m.Caution, c.here) {
					t.Errorf("%s: beside %s stands %q, and neither %s nor %s", table.ID, c.workload, m.Caution, c.there, c.here)
				}
			}
		}
		if beside == 0 {
			t.Errorf("no table of karna-2021 is measured by %s", c.workload)
		}
	}
}

// Section 4.4 of caiola-2025 prints "62+" where section 3.4 prints 62.5.
func TestAFigureIsQuotedAsItsPlacePrintsIt(t *testing.T) {
	s := sourceOf(t, "caiola-2025")
	i := slices.IndexFunc(s.Claims, func(c papers.Claim) bool { return c.ID == "iperf3-agree" })
	if i < 0 {
		t.Fatal("no claim iperf3-agree")
	}
	c, atLeast62 := s.Claims[i], false
	for _, check := range c.Checks {
		for _, one := range check.Agree {
			if strings.Contains(one.Place, "4.4") && strings.Contains(one.Says, "62") {
				t.Errorf("%s is said to print %s", one.Place, one.Says)
			}
		}
		if check.Value != nil && fmt.Sprint(check.Value) == "62" && check.Wording == "more than" {
			atLeast62 = true
		}
	}
	if !atLeast62 || !regexp.MustCompile(`3\.4 prints 62\.5.*4\.4 "62\+"`).MatchString(c.Note) {
		t.Errorf("checks %+v, note %q", c.Checks, c.Note)
	}
}

// MySQL's default of 151 connections is less than the threads that have results in
// heino-2025; what allowed them is not printed.
func TestASettingThatASourceDoesNotPrintIsNamedAndSet(t *testing.T) {
	s := sourceOf(t, "heino-2025")
	if !slices.ContainsFunc(s.Notes, func(note string) bool {
		return strings.Contains(note, "sets no max_connections") && strings.Contains(note, "151") && strings.Contains(note, "not printed")
	}) {
		t.Errorf("no note says that max_connections is not printed: %q", s.Notes)
	}
	most := 0
	for _, table := range s.Tables {
		for _, row := range table.Rows {
			if threads, err := strconv.Atoi(row.At["threads"]); err == nil {
				most = max(most, threads)
			}
		}
	}
	if most <= 151 {
		t.Errorf("the most threads that have results are %d: the default allows them", most)
	}
	for name, server := range map[string]string{"heino-2025": "mysql-oltp", "heino-2025-mysql": "mysql"} {
		if says := commentOf(t, name); !strings.Contains(says, "default of 151") {
			t.Errorf("%s does not say why it sets max_connections: %s", name, says)
		}
		plan, err := study.Open(name, study.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range plan.Workloads {
			for _, l := range w.Levels {
				threads, _ := strconv.Atoi(l.Parameters["threads"])
				if allowed, _ := strconv.Atoi(l.Parameters["max_connections"]); w.Name == server && allowed <= threads {
					t.Errorf("%s: %d threads, and %d connections at most", name, threads, allowed)
				}
			}
		}
	}
}
