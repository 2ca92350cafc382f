package workload

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
)

// The syntax of values. They are substituted into shell command lines, so they
// must have no characters with a meaning to the shell.
var (
	wholeNumber = regexp.MustCompile(`^-?[0-9]{1,18}$`)
	plainNumber = regexp.MustCompile(`^-?[0-9]{1,18}(\.[0-9]{1,9})?$`)
	plainWord   = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./:=,@%+-]*$`)
	// No quotes: shell commands have it within quotes.
	page = regexp.MustCompile(`^/[A-Za-z0-9_./:=,@%+~?&;-]*$`)
)

// Numeric reports whether the parameter is a number: it has a range, it is a size,
// or its default is a number and it has no list of values.
func (p Parameter) Numeric() bool {
	if _, is := p.size(); is {
		return true
	}
	return p.Min != nil || p.Max != nil || len(p.Values) == 0 && plainNumber.MatchString(p.Default)
}

// whole reports whether only integers are allowed, since the default is one.
func (p Parameter) whole() bool { return wholeNumber.MatchString(p.Default) }

// Check returns an error if a value is invalid: not one of the listed values, not
// a number, out of range, or not a plain word.
func (p Parameter) Check(value string) error {
	if len(p.Values) > 0 {
		if !slices.Contains(p.Values, value) {
			return fmt.Errorf("%s", strictyaml.Unknown("value", value, p.Values))
		}
		return nil
	}
	if p.Form == PageForm {
		if !page.MatchString(value) {
			return fmt.Errorf("%q is not the path of a page, such as /items?page=2: letters, digits and _ . / : = , @ %% + - ~ ? & ; are allowed; write other characters as %%XX", value)
		}
		return nil
	}
	if !p.Numeric() {
		if !plainWord.MatchString(value) {
			return fmt.Errorf("%q is not a plain word: letters, digits and _ . / : = , @ %% + - are allowed, and no dash at the start", value)
		}
		return nil
	}
	text := value
	if _, is := p.size(); is {
		_, err := quantity.ParseBytes(value)
		if err == nil && !plainWord.MatchString(spacedSize.ReplaceAllString(value, "$1$2")) {
			err = fmt.Errorf("%q is not a size: write %s", value, quantity.Spellings)
		}
		if err != nil {
			return fmt.Errorf("%w%s", err, p.rangeText())
		}
		if text = p.Format(value); !wholeNumber.MatchString(text) {
			return fmt.Errorf("%s is not a whole number of %s%s", value, p.Unit, p.rangeText())
		}
	} else if p.whole() && !wholeNumber.MatchString(value) {
		return fmt.Errorf("%q is not a whole number%s", value, p.rangeText())
	}
	if !plainNumber.MatchString(text) {
		return fmt.Errorf("%q is not a number%s", value, p.rangeText())
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || p.Min != nil && v < *p.Min || p.Max != nil && v > *p.Max {
		return fmt.Errorf("%s is out of range%s", value, p.rangeText())
	}
	return nil
}

// rangeText describes the allowed range for error messages.
func (p Parameter) rangeText() string {
	unit := ""
	if p.Unit != "" {
		unit = " " + p.Unit
	}
	switch {
	case p.Min != nil && p.Max != nil:
		return fmt.Sprintf(": %s to %s%s are allowed", formatNumber(*p.Min), formatNumber(*p.Max), unit)
	case p.Min != nil:
		return fmt.Sprintf(": %s%s or more is allowed", formatNumber(*p.Min), unit)
	case p.Max != nil:
		return fmt.Sprintf(": %s%s or less is allowed", formatNumber(*p.Max), unit)
	}
	return ""
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

var reference = regexp.MustCompile(`\$?\$\{([^{}]*)\}`)

// substitute replaces ${name} with a parameter's value, and $${name} with ${name}
// for the shell.
func substitute(text string, values map[string]string) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	var unknown []string
	out := reference.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "$$") {
			return found[1:]
		}
		name := found[2 : len(found)-1]
		value, ok := values[name]
		if !ok {
			unknown = append(unknown, name)
		}
		return value
	})
	if len(unknown) > 0 {
		known := slices.Sorted(maps.Keys(values))
		return "", fmt.Errorf("%s; write $${%s} for the shell's own variable", strictyaml.Unknown("parameter", unknown[0], known), unknown[0])
	}
	return out, nil
}

// Literal is a text for a pack that stays as it is: what looks like a parameter is not replaced.
func Literal(text string) string { return reference.ReplaceAllString(text, "$$$0") }

// Defaults returns the parameters' default values.
func (p Pack) Defaults() map[string]string {
	values := map[string]string{}
	for name, parameter := range p.Parameters {
		values[name] = parameter.Default
	}
	return values
}

// With returns the pack with the parameters and the instance's variables
// substituted in every command, environment variable, directory, probe and count.
// Parameters that are not in values have their default. With an amount the driver
// and the parser are those of Length, if it has its own.
func (p Pack) With(values map[string]string, vars InstanceVars) (Pack, error) {
	return p.with(values, vars, p.Amount(values) > 0, nil)
}

// WithoutAmount is With, for an amount that is still to be found: the driver has
// ${name} in its place.
func (p Pack) WithoutAmount(values map[string]string, vars InstanceVars) (Pack, error) {
	return p.with(values, vars, true, map[string]string{p.Length.Amount: "${" + p.Length.Amount + "}"})
}

func (p Pack) with(values map[string]string, vars InstanceVars, byAmount bool, open map[string]string) (Pack, error) {
	all := p.Defaults()
	for name, parameter := range p.Parameters {
		all[name] = parameter.Format(parameter.Default)
	}
	maps.Copy(all, vars.texts(p.RoleNames()))
	for name, value := range values {
		parameter, ok := p.Parameters[name]
		if !ok {
			return Pack{}, fmt.Errorf("workload %s has no parameter %q", p.Name, name)
		}
		if err := parameter.Check(value); err != nil {
			return Pack{}, fmt.Errorf("workload %s, parameter %s: %w", p.Name, name, err)
		}
		all[name] = parameter.Format(value)
	}
	maps.Copy(all, open)
	var first error
	p = p.rewrite(func(_ []any, text string) string {
		out, err := substitute(text, all)
		if err != nil && first == nil {
			first = fmt.Errorf("workload %s: %w", p.Name, err)
		}
		return out
	})
	p.Touches, p.Configuration = onlyPaths(p.Touches), onlyPaths(p.Configuration)
	if byAmount {
		if p.Length.Driver != nil {
			p.Driver = p.Length.Driver
		}
		if p.Length.Parser != "" {
			p.Parser = Parser{Name: p.Length.Parser}
		}
	}
	return p, first
}

// onlyPaths removes entries that are not absolute paths after the substitution.
func onlyPaths(list []RolePath) []RolePath {
	return slices.DeleteFunc(list, func(at RolePath) bool { return !strings.HasPrefix(at.Path, "/") })
}

// rewrite returns a copy in which change was applied to every text that may refer
// to a parameter. path is the position of the text in the pack's file.
func (p Pack) rewrite(change func(path []any, text string) string) Pack {
	texts := func(list []string, path ...any) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = change(append(slices.Clone(path), i), list[i])
		}
		return list
	}
	p = p.eachStep(func(s Step, path ...any) Step {
		at := func(key string) []any { return append(slices.Clone(path), key) }
		s.Run, s.Dir = change(at("run"), s.Run), change(at("dir"), s.Dir)
		s.Stdin, s.User = change(at("stdin"), s.Stdin), change(at("user"), s.User)
		s.Argv, s.Env = texts(s.Argv, at("argv")...), texts(s.Env, at("env")...)
		return s
	})
	for i := range p.Servers {
		ready := &p.Servers[i].Ready
		at := func(key string) []any { return []any{"servers", i, "ready", key} }
		ready.TCP, ready.HTTP, ready.Unix = change(at("tcp"), ready.TCP), change(at("http"), ready.HTTP), change(at("unix"), ready.Unix)
		ready.Exec = texts(ready.Exec, "servers", i, "ready", "exec")
	}
	paths := func(list []RolePath, name string) []RolePath {
		list = slices.Clone(list)
		for i := range list {
			list[i].Path = change([]any{name, i, "path"}, list[i].Path)
		}
		return list
	}
	p.Touches, p.Configuration = paths(p.Touches, "touches"), paths(p.Configuration, "configuration")
	p.Rest = change([]any{"rest"}, p.Rest)
	roles := map[string]Role{}
	for name, role := range p.Roles {
		role.Count = change([]any{"roles", name, "count"}, role.Count)
		role.Cores = change([]any{"roles", name, "cores"}, role.Cores)
		roles[name] = role
	}
	p.Roles = roles
	return p
}

// CommandArgs returns the arguments of the command: Argv, or /bin/sh -c Run.
func (s Step) CommandArgs() []string {
	if s.Run != "" {
		return []string{"/bin/sh", "-c", s.Run}
	}
	return slices.Clone(s.Argv)
}
