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

var netperfReport = report{
	tool:  "netperf's TCP_RR or UDP_RR",
	first: regexp.MustCompile(`^MIGRATED (TCP|UDP) REQUEST/RESPONSE TEST from .* : first burst 0$`),
	lines: patterns(
		`^\d+ +\d+ +(?P<request_size>\d+) +(?P<response_size>\d+) +(?P<seconds>[0-9.]+) +(?P<transactions_per_second>[0-9.]+)$`,
		`^(?P<_sent>\d+) +(?P<_received>\d+)$`),
	other: anyOf(`Local /Remote`, `Socket Size   Request  Resp\.   Elapsed  Trans\.`, `Send   Recv   Size     Size    Time     Rate`,
		`bytes  Bytes  bytes    bytes   secs\.    per sec`),
	wanted: []string{"transactions_per_second", "_sent"},
}

func parseNetperf(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	all := lines(stdout)
	fields, err := netperfReport.read(all)
	if err != nil {
		return nil, err
	}
	if fields["transactions_per_second"] == 0 {
		return nil, fmt.Errorf("netperf made no transaction: %s", ending(all))
	}
	fields["latency_mean"] = 1e6 / fields["transactions_per_second"]
	return fields, nil
}
