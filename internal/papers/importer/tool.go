package importer

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/workload"
	"tare/internal/workload/parse"
)

// toolOf returns a pack for the name of a tool: a workload pack (a built-in name or a
// file), of which the metrics and the parser are used, or a parser. Fields of a
// parser are metrics if their unit implies which direction is better. metrics, if
// any, replace those of the tool.
func toolOf(name string, metrics []workload.Metric) (workload.Pack, error) {
	pack, err := lookUp(name)
	if err != nil {
		return workload.Pack{}, err
	}
	if len(metrics) > 0 {
		pack.Metrics, err = replaceMetrics(pack, metrics)
		pack = withErrors(pack)
	} else if len(pack.Metrics) == 0 {
		err = fmt.Errorf("no field of parser %s has a unit that implies which direction is better: choose metrics with --metric NAME:lower or NAME:higher (fields: %s)",
			pack.Parser.Name, strings.Join(fieldNames(pack), ", "))
	}
	return pack, err
}

func lookUp(name string) (workload.Pack, error) {
	parser, isParser := parse.Lookup(name)
	switch {
	case strictyaml.IsPath(name):
		p, err := workload.Load(name)
		if err != nil {
			return workload.Pack{}, err
		}
		return trim(*p)
	case slices.Contains(workload.Names(), name):
		p, err := workload.Builtin(name)
		if err != nil {
			return workload.Pack{}, err
		}
		trimmed, err := trim(*p)
		if err == nil || !isParser {
			return trimmed, err
		}
	case !isParser:
		known := append(parse.Names(), workload.Names()...)
		slices.Sort(known)
		return workload.Pack{}, fmt.Errorf("%s; to use your own workload pack, give its path, such as ./%s.yaml",
			strictyaml.Unknown("tool", name, slices.Compact(known)), name)
	}
	return bare(parser), nil
}

// trim keeps the part of a pack that reads output, since it is unknown what ran.
// Metrics that tare measures itself are not in any output.
func trim(p workload.Pack) (workload.Pack, error) {
	kept := workload.Pack{Name: p.Name, Title: p.Title, Stresses: p.Stresses, Parser: p.Parser, Metrics: lists.Filter(p.Metrics, workload.Metric.FromOutput)}
	none := p.Parser.Name == "" && len(p.Parser.Regex) == 0 && !p.Parser.JSON && !p.Parser.CSV
	if len(kept.Metrics) == 0 || none {
		return kept, fmt.Errorf("workload %s has no metric in the output of its tool: tare measures all of them itself, so nothing can be imported", p.Name)
	}
	return kept, nil
}

// bare returns a pack for a parser. Its stresses are those of the built-in packs
// with the same parser, if all of them agree.
func bare(p parse.Parser) workload.Pack {
	pack := workload.Pack{Name: p.Name, Title: p.About, Parser: workload.Parser{Name: p.Name}}
	for _, f := range p.Fields {
		if better := direction(f.Unit); better != "" && !strings.HasSuffix(f.Name, "*") && !slices.Contains(p.Describes, f.Name) {
			pack.Metrics = append(pack.Metrics, workload.Metric{Name: f.Name, Unit: f.Unit, Better: better})
		}
	}
	// One metric must be primary: a rate, if there is one.
	primary := slices.IndexFunc(pack.Metrics, func(m workload.Metric) bool {
		return m.Name == p.Primary || p.Primary == "" && m.Better == "higher"
	})
	if len(pack.Metrics) > 0 {
		pack.Metrics[max(0, primary)].Primary = true
	}
	pack = withErrors(pack)
	pack.Stresses = stresses()[p.Name]
	return pack
}

// withErrors adds the share of the operations that failed, if the tool tells it: no other
// metric is compared where one side fails more.
func withErrors(p workload.Pack) workload.Pack {
	parser, named := parse.Lookup(p.Parser.Name)
	if named && parser.HasField(workload.ErrorRatio) && p.Metric(workload.ErrorRatio) == nil {
		p.Metrics = append(p.Metrics, workload.ErrorMetric)
	}
	return p
}

// stresses are what the built-in packs of each parser stress, where all of them agree.
// Each result of an import asks, and reading all packs takes long, so it is done once.
var stresses = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, name := range workload.Names() {
		pack, err := workload.Builtin(name)
		if err != nil {
			continue
		}
		if first, there := all[pack.Parser.Name]; there && first != pack.Stresses {
			pack.Stresses = ""
		}
		all[pack.Parser.Name] = pack.Stresses
	}
	return all
})

// direction is what a unit implies: rates are better when higher, times when lower;
// "" for other units.
func direction(unit string) string {
	if what, per, rate := strings.Cut(unit, "/"); rate && per == "s" && what != "" {
		return "higher"
	}
	switch unit {
	case "s", "ms", "us", "µs", "ns":
		return "lower"
	}
	return ""
}

// replaceMetrics completes a list of metrics from the fields of the parser and from
// the pack.
func replaceMetrics(pack workload.Pack, wanted []workload.Metric) ([]workload.Metric, error) {
	parser, named := parse.Lookup(pack.Parser.Name)
	var all []workload.Metric
	for _, m := range wanted {
		for _, own := range pack.Metrics {
			if own.Name == m.Name && m.Field == "" {
				m.Field = own.Field
				m.Unit, m.Better = cmp.Or(m.Unit, own.Unit), cmp.Or(m.Better, own.Better)
			}
		}
		unit, known := parser.UnitOf(m.FieldName())
		if named && !known {
			return nil, fmt.Errorf("metric %s: %s", m.Name, strictyaml.Unknown("field of parser "+pack.Parser.Name, m.FieldName(), fieldNames(pack)))
		}
		m.Unit = cmp.Or(m.Unit, unit)
		m.Better = cmp.Or(m.Better, direction(m.Unit))
		switch {
		case m.Better != "lower" && m.Better != "higher" && m.Better != "":
			return nil, fmt.Errorf("metric %s: better is %q, but must be lower or higher", m.Name, m.Better)
		case m.Better == "":
			return nil, fmt.Errorf("metric %s: is lower or higher better? Write %s:lower or %s:higher", m.Name, m.Name, m.Name)
		case m.Unit == "":
			m.Unit = "1"
		}
		all = append(all, m)
	}
	return all, nil
}

func fieldNames(p workload.Pack) []string {
	if parser, ok := parse.Lookup(p.Parser.Name); ok {
		return parser.FieldNames()
	}
	return nil
}

// exists is an error if a file does not exist or is a directory.
func exists(path string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return fmt.Errorf("there is no file %s", path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory: name the files in it, such as %s", path, filepath.Join(path, "*.log"))
	}
	return nil
}
