package parity

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// Where a fact is read.
const (
	Inside  = "inside"  // by the agent
	Outside = "outside" // by the host and the provider
	Planned = "plan"    // from the plan
)

// ClockRate is the fact that the trials show, and no fingerprint has.
const ClockRate = "clock.rate"

// Values that facts of several keys have.
const (
	None       = "none"        // no limit, no such thing
	Own        = "own"         // a separate namespace
	Hosts      = "the host's"  // a namespace shared with the host
	OwnKernel  = "own kernel"  // nothing is shared: another kernel runs inside
	ToTheAgent = "the agent"   // a pipe to the agent, which forwards the output to tare
	Nowhere    = "nowhere"     // /dev/null or closed
	LibcsOwn   = "the libc's"  // no allocator library is loaded
	Address    = "${address}"  // in place of the instance's address in a text
	Instance   = "${instance}" // in place of its name or ID in a text
)

// Key defines a kind of fact. A * in its name stands for an argument: sysctl[*] has
// one fact per setting.
type Key struct {
	Name  string `json:"name"`
	Unit  string `json:"unit,omitempty"` // "" for words, B, KiB, 1 for what is counted
	Seen  string `json:"seen"`           // usually: facts of an instance's own kernel are read inside only
	About string `json:"about"`
}

//go:embed keys.yaml
var keysText []byte

// Keys are all kinds of facts, as keys.yaml lists them.
var Keys = sync.OnceValue(func() (keys []Key) {
	if err := yaml.Unmarshal(keysText, &keys); err != nil {
		panic("keys.yaml, embedded: " + err.Error())
	}
	return keys
})

// At returns the key of a fact of another instance, that of a further role:
// path[/data].filesystem@driver.
func At(key, role string) string { return key + "@" + role }

// SplitRole splits a key from the role of At; the role is "" for the instance of the
// first server.
func SplitRole(fact string) (key, role string) {
	at := strings.LastIndexByte(fact, '@')
	if at < 0 || strings.ContainsAny(fact[at:], "]") {
		return fact, ""
	}
	return fact[:at], fact[at+1:]
}

// ByRole reports whether a key contains the role, so that facts of several
// instances have different keys without At.
func ByRole(key string) bool {
	family, _, _ := strings.Cut(key, "[")
	return slices.Contains([]string{"allocator", "program", "configuration", "command", "log", "parameter"}, family)
}

// Match reports whether a fact's key matches a pattern. A * matches any text that
// is not empty: within brackets up to the closing one, at the end of the pattern
// all the rest.
func Match(pattern, key string) bool {
	before, after, open := strings.Cut(pattern, "*")
	rest, ok := strings.CutPrefix(key, before)
	if !open || !ok {
		return pattern == key
	}
	if after == "" {
		return rest != ""
	}
	if !strings.HasPrefix(after, "]") {
		return false
	}
	at := strings.IndexByte(rest, ']')
	return at > 0 && Match(after, rest[at:])
}

// Argument returns the text in a key's first brackets: nginx for a[nginx].b; "" if
// there is none.
func Argument(key string) string {
	_, rest, _ := strings.Cut(key, "[")
	argument, _, _ := strings.Cut(rest, "]")
	return argument
}
