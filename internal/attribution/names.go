package attribution

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/study"
)

// nameTogether names a part that is made of several.
func nameTogether(p *Part, named []string) {
	last := named[len(named)-1]
	if n := len(named) - 2; n > 1 {
		named, last = named[:3], fmt.Sprintf("%d others", n)
	}
	p.Name = strings.Join(named[:len(named)-1], ", ") + " and " + last
	p.Subject, p.Many = strings.ToUpper(p.Name[:1])+p.Name[1:]+", switched together,", true
}

// step compares an environment that has the part with one that does not.
func step(p Part, environment, base string, order int) study.Step {
	return study.Step{Part: p.Key, Name: p.Name, About: p.About, Switched: p.Switched, Environment: environment, Base: base, Order: order,
		Subject: p.Subject, Many: p.Many || p.Subject == "" && plural(p.Name)}
}

// plural reports whether the head noun of a name is plural.
func plural(name string) bool {
	for _, after := range []string{" of ", " in ", " on ", " under ", " with ", " without ", " past ", " through ", " as ", " to ", " by ", " mode ", " type ", " ("} {
		name, _, _ = strings.Cut(name, after)
	}
	return strings.Contains(name, " and ") || strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss")
}

// parameterPart describes the change of one workload parameter; a parameter that
// sets where a log goes is called the log's path.
func parameterPart(workload, key, before, after string) Part {
	about := fmt.Sprintf("with.%s.%s: %s → %s", workload, key, before, after)
	p := Part{Key: "with." + workload + "." + key, Name: key + " of " + workload, About: about, Switched: about, Group: parametersGroup,
		Subject: fmt.Sprintf("Setting %s of %s from %s to %s", key, workload, before, after)}
	if isLog(key, before, after) {
		p.Name, p.Subject = "log path of "+workload, ""
	}
	return p
}

// isLog reports whether a parameter sets where a log goes, by its name or one of its
// values.
func isLog(key string, values ...string) bool {
	words := strings.Split(key, "_")
	if last := words[len(words)-1]; last == "log" || last == "logs" {
		return true
	}
	return slices.ContainsFunc(values, func(v string) bool {
		return v == "/dev/stdout" || v == "/dev/stderr" || strings.HasSuffix(v, ".log") || strings.Contains(key, "log") && strings.HasPrefix(v, "/")
	})
}
