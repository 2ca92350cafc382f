package parse

import (
	"fmt"
	"regexp"
)

var bootTimes = Parser{
	Name:     "boot-times",
	About:    "the output of the shell's time for a start: real, user and sys, with the container's ID or virsh's lines around them",
	Versions: "bash 5.0, 5.2",
	Fields:   []Field{{"real_seconds", "s"}, {"user_seconds", "s"}, {"system_seconds", "s"}},
	Parse:    parseBootTimes,
	Split:    splitBootTimes,
}

var (
	bootTime  = regexp.MustCompile(`^(real|user|sys)\t(\d+)m(\d+\.\d+)s$`)
	bootOther = regexp.MustCompile(`^([0-9a-f]{64}|Domain \S+ (started|destroyed|is being shutdown))?$`)
	bootNames = map[string]string{"real": "real_seconds", "user": "user_seconds", "sys": "system_seconds"}
)

func parseBootTimes(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	fields, all := map[string]float64{}, lines(stdout)
	for _, line := range all {
		m := bootTime.FindStringSubmatch(line)
		if m == nil {
			if !bootOther.MatchString(line) {
				return nil, fmt.Errorf("neither time nor a start prints such a line: %q", clip(line))
			}
			continue
		}
		if _, twice := fields[bootNames[m[1]]]; twice {
			return nil, fmt.Errorf("a second start; its line is %q", clip(line))
		}
		minutes, err := number(m[2], line)
		if err != nil {
			return nil, err
		}
		seconds, err := number(m[3], line)
		if err != nil {
			return nil, err
		}
		fields[bootNames[m[1]]] = 60*minutes + seconds
	}
	if len(fields) != len(bootNames) {
		return nil, fmt.Errorf("real, user and sys are not all there: %s", ending(all))
	}
	return fields, nil
}

// splitBootTimes splits after each sys, the last of the three. The output of
// virsh about the domain's end precedes the next start, or is at the end.
func splitBootTimes(file []byte) ([][]byte, error) {
	last := 0
	for at := 0; at < len(file); {
		end, line := nextLine(file, at)
		if !bootOther.MatchString(line) {
			last = end
		}
		at = end
	}
	return splitAfter(file[:last], func(line string) bool {
		m := bootTime.FindStringSubmatch(line)
		return m != nil && m[1] == "sys"
	})
}
