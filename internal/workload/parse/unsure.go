package parse

import "slices"

// doubt is why a file may be of a run that was interrupted although it is complete. Of a tool
// that always tells, it is empty.
type doubt struct {
	Unless *pattern `yaml:"unless"` // a line that tells; nil if none does
	When   *pattern `yaml:"when"`   // a line of the files that this is about; nil for all
	Why    string   `yaml:"why"`
}

func (d doubt) of(file []byte) string {
	all := lines(file)
	told := d.Unless != nil && slices.ContainsFunc(all, d.Unless.match)
	if told || d.When != nil && !slices.ContainsFunc(all, d.When.match) {
		return ""
	}
	return d.Why
}
