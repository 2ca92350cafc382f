package parse

import (
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
	bootOther  = anyOf(`[0-9a-f]{64}`, `Domain \S+ (started|destroyed|is being shutdown)`)
	bootReport = report{
		tool:   "a start under time",
		lines:  patterns(bootTime("real"), bootTime("user"), bootTime("sys")),
		other:  bootOther,
		wanted: []string{"_real_s", "_user_s", "_sys_s"},
	}
	bootEnd = regexp.MustCompile(`^sys\t\d+m\d+\.\d+s$`)
)

func bootTime(name string) string {
	return `^` + name + `\t(?P<_` + name + `_m>\d+)m(?P<_` + name + `_s>\d+\.\d+)s$`
}

func parseBootTimes(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	fields, err := bootReport.read(lines(stdout))
	if err != nil {
		return nil, err
	}
	for name, field := range map[string]string{"real": "real_seconds", "user": "user_seconds", "sys": "system_seconds"} {
		fields[field] = 60*fields["_"+name+"_m"] + fields["_"+name+"_s"]
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
	return splitAfter(file[:last], bootEnd.MatchString)
}
