package debian

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tare/internal/image/tool"
)

// aptSource is one package source of apt's configuration, in either of apt's
// formats.
type aptSource struct {
	URIs, Suites, Components []string
	// Options are those in brackets in a one-line source, such as signed-by and
	// check-valid-until.
	Options map[string]string
}

// Sources returns the host's sources of its distribution for a suite as
// one-line sources, with the recipe's components added. Third-party repositories
// are left out, since an image must not depend on what else is installed on the
// host.
func Sources(apt string, lists string, distro Distribution, suite string, components []string) ([]string, error) {
	all, err := readSources(apt)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, source := range all {
		for _, uri := range source.URIs {
			for _, hostSuite := range source.Suites {
				wanted, ok := wantedSuite(codename(lists, uri, hostSuite, distro.Suite), distro.Suite, suite)
				if !ok || !ownSource(source, uri, hostSuite, lists, distro) {
					continue
				}
				line := source.with(components).line(uri, wanted)
				if !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no package source of %s %s among apt's sources in %s: add the distribution's own main repository there", distro.ID, distro.Suite, apt)
	}
	return lines, nil
}

// wantedSuite returns the name under which a recipe for a suite uses one of the
// host's suites: the release, its updates and its security updates. Backports
// and proposed updates are left out.
func wantedSuite(hostSuite, hostRelease, suite string) (string, bool) {
	pocket, ok := strings.CutPrefix(hostSuite, hostRelease)
	if !ok || hostRelease == "" {
		return "", false
	}
	switch pocket {
	case "-updates", "-security", "/updates":
		// What is newest in Debian goes to unstable itself.
		return suite + pocket, suite != "sid" && suite != "unstable"
	case "":
		return suite, true
	}
	return "", false
}

// ownSource distinguishes the distribution's repositories from third-party ones
// for the same suite: by the Origin of the repository's release file or, before
// apt has fetched it, by the signing key.
func ownSource(source aptSource, uri, suite, lists string, distro Distribution) bool {
	if origin, known := sourceOrigin(lists, uri, suite); known {
		return strings.EqualFold(origin, distro.ID)
	}
	if !slices.Contains(source.Components, "main") {
		return false
	}
	key, signed := source.Options["signed-by"]
	return !signed || strings.Contains(filepath.Base(key), distro.ID+"-archive")
}

// sourceOrigin returns the Origin of the repository's release file, if apt has
// fetched it.
func sourceOrigin(lists, uri, suite string) (string, bool) {
	return releaseField(lists, uri, suite, "Origin")
}

// codename replaces an alias such as "stable" with the release's name, if the
// repository has it; unstable is always sid.
func codename(lists, uri, suite, release string) string {
	if suite == "unstable" {
		return "sid"
	}
	if strings.HasPrefix(suite, release) {
		return suite
	}
	if name, ok := releaseField(lists, uri, suite, "Codename"); ok {
		return name
	}
	return suite
}

// releaseField reads a field of the release file of a repository that apt has
// stored.
func releaseField(lists, uri, suite, field string) (string, bool) {
	_, place, ok := strings.Cut(uri, "://")
	if !ok {
		return "", false
	}
	name := strings.ReplaceAll(strings.TrimSuffix(place, "/")+"/dists/"+suite, "_", "%5f")
	name = strings.ReplaceAll(name, "/", "_")
	for _, file := range []string{name + "_InRelease", name + "_Release"} {
		text, err := os.ReadFile(filepath.Join(lists, file))
		if err != nil {
			continue
		}
		for _, line := range strings.SplitN(string(text), "\n", 30) {
			if value, ok := strings.CutPrefix(line, field+":"); ok {
				return strings.TrimSpace(value), true
			}
		}
	}
	return "", false
}

// with adds components that the source does not have.
func (s aptSource) with(components []string) aptSource {
	s.Components = slices.Clone(s.Components)
	for _, c := range components {
		if !slices.Contains(s.Components, c) {
			s.Components = append(s.Components, c)
		}
	}
	return s
}

func (s aptSource) line(uri, suite string) string {
	var options []string
	for name, value := range s.Options {
		options = append(options, name+"="+strings.Join(strings.Fields(value), ","))
	}
	sort.Strings(options)
	bracket := ""
	if len(options) > 0 {
		bracket = "[" + strings.Join(options, " ") + "] "
	}
	return fmt.Sprintf("deb %s%s %s %s", bracket, uri, suite, strings.Join(s.Components, " "))
}

// readSources reads all sources of an /etc/apt directory.
func readSources(apt string) ([]aptSource, error) {
	files, _ := filepath.Glob(filepath.Join(apt, "sources.list.d", "*"))
	sort.Strings(files)
	var all []aptSource
	for _, file := range append([]string{filepath.Join(apt, "sources.list")}, files...) {
		var parse func(string) []aptSource
		switch filepath.Ext(file) {
		case ".list":
			parse = parseOneLine
		case ".sources":
			parse = parseDeb822
		default:
			continue // apt ignores other endings as well
		}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("apt's sources: %w", err)
		}
		all = append(all, parse(string(text))...)
	}
	return all, nil
}

// parseOneLine parses "deb [option=value ...] URI SUITE COMPONENT..." lines.
func parseOneLine(text string) []aptSource {
	var sources []aptSource
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb")
		if !ok || strings.TrimLeft(rest, " \t[") == rest {
			continue // a comment, or deb-src
		}
		rest = strings.TrimSpace(rest)
		source := aptSource{Options: map[string]string{}}
		if inside, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]"); ok && strings.HasPrefix(rest, "[") {
			rest = after
			for _, option := range strings.Fields(inside) {
				name, value, _ := strings.Cut(option, "=")
				source.Options[strings.ToLower(name)] = value
			}
		}
		fields := strings.Fields(rest)
		if len(fields) < 3 || strings.HasPrefix(fields[0], "cdrom:") {
			continue
		}
		source.URIs, source.Suites, source.Components = fields[:1], fields[1:2], fields[2:]
		sources = append(sources, source)
	}
	return sources
}

// parseDeb822 parses paragraphs of "Field: value" with continuation lines.
func parseDeb822(text string) []aptSource {
	var sources []aptSource
	fields, last := map[string]string{}, ""
	finish := func() {
		defer func() { fields, last = map[string]string{}, "" }()
		if !slices.Contains(strings.Fields(fields["types"]), "deb") || strings.EqualFold(fields["enabled"], "no") {
			return
		}
		source := aptSource{
			URIs:       strings.Fields(fields["uris"]),
			Suites:     strings.Fields(fields["suites"]),
			Components: strings.Fields(fields["components"]),
			Options:    map[string]string{},
		}
		source.URIs = slices.DeleteFunc(source.URIs, func(uri string) bool { return strings.HasPrefix(uri, "cdrom:") })
		for field, option := range deb822Options {
			// A key embedded in the file cannot be written as a one-line source;
			// the distribution's keys are trusted by name anyway.
			if value := fields[field]; value != "" && !strings.Contains(value, "BEGIN PGP") {
				source.Options[option] = value
			}
		}
		if len(source.URIs) > 0 && len(source.Suites) > 0 && len(source.Components) > 0 {
			sources = append(sources, source)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			finish()
		case (line[0] == ' ' || line[0] == '\t') && last != "":
			fields[last] += "\n" + strings.TrimSpace(line)
		default:
			if name, value, ok := strings.Cut(line, ":"); ok {
				last = strings.ToLower(strings.TrimSpace(name))
				fields[last] = strings.TrimSpace(value)
			}
		}
	}
	finish()
	return sources
}

// deb822Options are the fields that a one-line source has as options.
var deb822Options = map[string]string{
	"signed-by":         "signed-by",
	"architectures":     "arch",
	"trusted":           "trusted",
	"check-valid-until": "check-valid-until",
	"check-date":        "check-date",
	"allow-insecure":    "allow-insecure",
	"allow-weak":        "allow-weak",
}

// FetchOptions returns the host's settings for fetching packages (proxies,
// snapshot mirrors), which apply to an image's build as well.
func FetchOptions(ctx context.Context) ([]string, error) {
	out, err := tool.Call{Argv: []string{"apt-config", "dump", "--format", "%f \"%v\";%n"}}.Run(ctx)
	if err != nil {
		return nil, err
	}
	return keepFetchOptions(out), nil
}

func keepFetchOptions(dump string) []string {
	var kept []string
	for _, line := range strings.Split(dump, "\n") {
		name, value, _ := strings.Cut(line, " ")
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "acquire::") || value == `"";` {
			continue
		}
		for _, part := range []string{"::proxy", "::check-valid-until", "::check-date", "::cainfo", "::verify-peer", "::verify-host", "::retries"} {
			if strings.Contains(lower, part) {
				kept = append(kept, line)
				break
			}
		}
	}
	return kept
}
