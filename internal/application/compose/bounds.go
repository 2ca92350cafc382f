package compose

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/tree"

	"tare/internal/base/quantity"
)

// What the library makes of a short text without a bound. It keeps a port of a range as a
// value of some hundred bytes, and copies the whole of a service that others extend.
const (
	mostOfRange = 10   // ports of one range that are kept: no more of a service are looked at
	mostRanged  = 1000 // of all ranges together
	mostRead    = 4 * quantity.MiB
)

// portRange is a range as an entry of ports: what is before it, those of the host, those
// of the container, and the protocol.
var portRange = regexp.MustCompile(`(?s)^(.*?)(?:(\d+)-(\d+):)?(\d+)-(\d+)(/.*)?$`)

// shortRanges makes the library expand the beginnings of ranges of ports alone.
func shortRanges(l *loader.Options) {
	casts, left := maps.Clone(l.Interpolate.TypeCastMapping), mostRanged
	shorten := func(entry string) (any, error) {
		m := portRange.FindStringSubmatch(entry)
		if m == nil {
			return entry, nil
		}
		host, many := short(m[2], m[3])
		container, all := short(m[4], m[5])
		if all <= 1 || m[2] != "" && many != all {
			return entry, nil // one port, or an error of the library
		}
		if left -= min(all, mostOfRange); left < 0 {
			return nil, errors.New("the ranges of ports have too many ports: leave out those that are not driven, since none is published")
		}
		if host += ":"; m[2] == "" {
			host = ""
		}
		return m[1] + host + container + m[6], nil
	}
	for _, of := range []string{"services", "jobs"} {
		casts[tree.NewPath(of, tree.PathMatchAll, "ports", tree.PathMatchList)] = shorten
	}
	interpolate := *l.Interpolate
	interpolate.TypeCastMapping = casts
	l.Interpolate = &interpolate
}

// short is the beginning of a range, and how many ports the whole range has; 0 for none.
func short(first, last string) (text string, all int) {
	low, err := strconv.ParseUint(first, 10, 16)
	high, err2 := strconv.ParseUint(last, 10, 16)
	if err != nil || err2 != nil || high < low {
		return first + "-" + last, 0
	}
	all = int(high-low) + 1
	return fmt.Sprintf("%d-%d", low, low+uint64(min(all, mostOfRange))-1), all
}
