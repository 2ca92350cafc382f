package parse

import (
	"fmt"
	"regexp"
)

var netperf = Parser{
	Name:     "netperf",
	About:    "netperf -t TCP_RR or UDP_RR, one transaction at a time, so that latency_mean is 1 / transactions_per_second",
	Versions: "2.7.0",
	Fields: []Field{
		{"transactions_per_second", "op/s"}, {"latency_mean", "us"}, {"seconds", "s"},
		{"request_size", "B"}, {"response_size", "B"},
	},
	Parse:    parseNetperf,
	Split:    splitPrefix("MIGRATED "),
	Settings: settingsIn(`^MIGRATED (?P<protocol>TCP|UDP) REQUEST/RESPONSE TEST `, `^\d+ +\d+ +(?P<request_size>\d+) +(?P<response_size>\d+) +[0-9.]+ +[0-9.]+$`),
}

var netperfLines = []*regexp.Regexp{
	regexp.MustCompile(`^MIGRATED (TCP|UDP) REQUEST/RESPONSE TEST from .* : first burst 0$`),
	regexp.MustCompile(`^Local /Remote$`),
	regexp.MustCompile(`^Socket Size   Request  Resp\.   Elapsed  Trans\.$`),
	regexp.MustCompile(`^Send   Recv   Size     Size    Time     Rate$`),
	regexp.MustCompile(`^bytes  Bytes  bytes    bytes   secs\.    per sec$`),
	regexp.MustCompile(`^$`),
	regexp.MustCompile(`^\d+ +\d+ +(\d+) +(\d+) +([0-9.]+) +([0-9.]+)$`),
	regexp.MustCompile(`^\d+ +\d+$`),
}

func parseNetperf(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	fields, all := map[string]float64{}, lines(stdout)
	for i, line := range all {
		if i >= len(netperfLines) {
			if line != "" {
				return nil, fmt.Errorf("%q follows the values of netperf's test", clip(line))
			}
			continue
		}
		m := netperfLines[i].FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d of netperf's TCP_RR or UDP_RR is not like %q", i+1, clip(line))
		}
		if len(m) < 5 {
			continue
		}
		if err := take(fields, line, m[1:], "request_size", "response_size", "seconds", "transactions_per_second"); err != nil {
			return nil, err
		}
	}
	if len(all) < len(netperfLines) {
		return nil, fmt.Errorf("netperf's report is truncated: %s", ending(all))
	} else if fields["transactions_per_second"] == 0 {
		return nil, fmt.Errorf("netperf made no transaction: %s", ending(all))
	}
	fields["latency_mean"] = 1e6 / fields["transactions_per_second"]
	return fields, nil
}
