package parse

import "slices"

// kinds are what a tool prints, each with the lines by which it is known. The first that has
// one is it. That of a parser's own results has the parser's name.
type kinds []struct {
	Name string   `yaml:"name"`
	Line *pattern `yaml:"line"`
}

// kindOf is what a piece of a file is; "" if no line says so, or one says that it failed.
func (d *declaration) kindOf(piece []byte) string {
	all := lines(piece)
	if d.Report.Failed != nil && slices.ContainsFunc(all, d.Report.Failed.match) {
		return ""
	}
	for _, kind := range d.Kinds {
		if slices.ContainsFunc(all, kind.Line.match) {
			return kind.Name
		}
	}
	return ""
}
