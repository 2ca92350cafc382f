package fingerprint

import (
	"regexp"
	"slices"
	"strings"

	"tare/internal/parity"
)

// loopback is the address of servers that only their own instance reaches. It is
// replaced like any other.
const loopback = "127.0.0.1"

// id of a container, a layer or similar: it differs at each start.
var id = regexp.MustCompile(`\b[0-9a-f]{64}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// drawn is a host name that an engine derived from a container's ID.
var drawn = regexp.MustCompile(`^[0-9a-f]{12}$`)

// categories that an engine drew, at the end of an SELinux label.
var categories = regexp.MustCompile(`^([^:\s]+:[^:\s]+:[^:\s]+:s\d+):c\d+,c\d+$`)

// plain replaces texts that differ between instances.
func (r *reading) plain(text string) string {
	list := append([]Replace{{loopback, parity.Address}, {r.Address, parity.Address}}, r.Replaced...)
	slices.SortStableFunc(list, func(a, b Replace) int { return len(b.Text) - len(a.Text) })
	for _, one := range list {
		text = word(text, one.Text, one.By)
	}
	return id.ReplaceAllLiteralString(text, "${id}")
}

// word replaces a text unless it is part of a longer number or name.
func word(text, old, by string) string {
	if old == "" {
		return text
	}
	part := func(s string, at int) bool {
		if at < 0 || at >= len(s) {
			return false
		}
		c := s[at]
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	var out strings.Builder
	for {
		at := strings.Index(text, old)
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		end := at + len(old)
		if part(text, at-1) && part(old, 0) || part(text, end) && part(old, len(old)-1) ||
			end+1 < len(text) && text[end] == '.' && text[end+1] >= '0' && text[end+1] <= '9' {
			out.WriteString(text[:end])
		} else {
			out.WriteString(text[:at] + by)
		}
		text = text[end:]
	}
}
