package parse

import (
	"regexp"
	"sync"
)

// pattern is an expression that is compiled when it is first used: a command uses few.
type pattern struct {
	text     string
	compiled func() *regexp.Regexp
}

func expression(text string) *pattern {
	return &pattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// UnmarshalText reads an expression of a declaration.
func (p *pattern) UnmarshalText(text []byte) error {
	*p = *expression(string(text))
	return nil
}

func (p *pattern) match(line string) bool { return p.compiled().MatchString(line) }

// find are the groups of a line; nil if it does not match.
func (p *pattern) find(line string) []string {
	m := p.compiled().FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	return m[1:]
}
