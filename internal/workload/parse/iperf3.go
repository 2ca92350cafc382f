package parse

import (
	"encoding/json"
	"fmt"
	"strings"
)

var iperf3 = Parser{
	Name: "iperf3",
	About: "iperf3 -J of TCP or UDP, from the client or the server, which sees only its own side; sum of all streams; " +
		"with --bidir the way from server to client has _reverse behind its fields",
	Versions: "3.7, 3.9, 3.12",
	Fields:   iperf3Fields(),
	Parse:    parseIperf3,
	Split:    splitIperf3,
	Series:   iperf3Series,
	Settings: iperf3Settings,
	ID: func(stdout []byte) string {
		var report iperf3Report
		documentIn(stdout, &report)
		return report.Start.Cookie
	},
}

func iperf3Fields() []Field {
	fields := []Field{{"streams", "1"}, {"seconds", "s"}, {"cpu_local_percent", "%"}, {"cpu_remote_percent", "%"}}
	for _, way := range []string{"", "_reverse"} {
		fields = append(fields,
			Field{"bandwidth_sent" + way, "bit/s"}, Field{"bandwidth_received" + way, "bit/s"},
			Field{"bytes_sent" + way, "B"}, Field{"bytes_received" + way, "B"}, Field{"retransmits" + way, "1"},
			Field{"jitter_ms" + way, "ms"}, Field{"packets" + way, "1"},
			Field{"lost_packets" + way, "1"}, Field{"lost_percent" + way, "%"})
	}
	return fields
}

type iperf3Report struct {
	Start struct {
		Version  string    `json:"version"`
		Cookie   string    `json:"cookie"`
		Accepted *struct{} `json:"accepted_connection"` // the server's side
		Test     *struct {
			Protocol string  `json:"protocol"`
			Streams  float64 `json:"num_streams"`
		} `json:"test_start"`
	} `json:"start"`
	Intervals []struct {
		Sum     *iperf3Sum `json:"sum"`
		Reverse *iperf3Sum `json:"sum_bidir_reverse"`
	} `json:"intervals"`
	End   map[string]json.RawMessage `json:"end"`
	Error *string                    `json:"error"`
}

type iperf3Sum struct {
	Start       *float64 `json:"start"`
	Seconds     *float64 `json:"seconds"`
	Bytes       *float64 `json:"bytes"`
	Bandwidth   *float64 `json:"bits_per_second"`
	Retransmits *float64 `json:"retransmits"`
	Jitter      *float64 `json:"jitter_ms"`
	Packets     *float64 `json:"packets"`
	Lost        *float64 `json:"lost_packets"`
	LostPercent *float64 `json:"lost_percent"`
	Omitted     bool     `json:"omitted"`
	Sender      bool     `json:"sender"`
}

func iperf3Document(stdout []byte) (*iperf3Report, error) {
	var report iperf3Report
	if err := decode("iperf3's JSON", stdout, &report); err != nil {
		return nil, err
	}
	switch {
	case report.Error != nil:
		return nil, fmt.Errorf("iperf3 reports %q", clip(*report.Error))
	case !strings.HasPrefix(report.Start.Version, "iperf 3."):
		return nil, fmt.Errorf("the report is of %q and not of iperf 3", clip(report.Start.Version))
	case report.Start.Test == nil || len(report.Intervals) == 0:
		return nil, fmt.Errorf("iperf3's report has no test")
	case report.Start.Test.Protocol != "TCP" && report.Start.Test.Protocol != "UDP":
		return nil, fmt.Errorf("the output of iperf3 over %q is not supported", clip(report.Start.Test.Protocol))
	}
	return &report, nil
}

// sum returns one of the sums at the end, nil if the report has none.
func (r *iperf3Report) sum(name string) (*iperf3Sum, error) {
	raw, ok := r.End[name]
	if !ok {
		return nil, nil
	}
	var s iperf3Sum
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%s of iperf3's report: %w", name, err)
	}
	if s.Seconds == nil || s.Bytes == nil || s.Bandwidth == nil {
		return nil, fmt.Errorf("%s of iperf3's report has no seconds, bytes or bits_per_second", name)
	}
	return &s, nil
}

func parseIperf3(stdout []byte) (map[string]float64, error) {
	report, err := iperf3Document(stdout)
	if err != nil {
		return nil, err
	}
	fields := map[string]float64{"streams": report.Start.Test.Streams}
	for _, way := range []string{"", "_bidir_reverse"} {
		if err := report.way(fields, way, strings.TrimPrefix(way, "_bidir")); err != nil {
			return nil, err
		}
	}
	var cpu struct {
		Local  *float64 `json:"host_total"`
		Remote *float64 `json:"remote_total"`
	}
	if raw, ok := report.End["cpu_utilization_percent"]; ok {
		if err := json.Unmarshal(raw, &cpu); err != nil {
			return nil, fmt.Errorf("cpu_utilization_percent of iperf3's report: %w", err)
		}
	}
	put(fields, "cpu_local_percent", cpu.Local)
	if cpu.Remote != nil && (*cpu.Remote > 0 || report.Start.Accepted == nil) {
		fields["cpu_remote_percent"] = *cpu.Remote
	}
	return fields, nil
}

// way adds the fields of one direction. A side reports 0 for what it cannot
// know: a server for what was sent to it and with which CPU time, sum_sent for
// jitter and loss. Such zeros are left out.
func (r *iperf3Report) way(fields map[string]float64, name, suffix string) error {
	var sums [3]*iperf3Sum
	for i, kind := range []string{"sum", "sum_sent", "sum_received"} {
		var err error
		if sums[i], err = r.sum(kind + name); err != nil {
			return err
		}
	}
	total, sent, received := sums[0], sums[1], sums[2]
	udp := r.Start.Test.Protocol == "UDP"
	if total == nil && sent == nil && received == nil && suffix != "" {
		return nil
	} else if udp && total == nil || !udp && (sent == nil || received == nil) {
		return fmt.Errorf("the end of iperf3's report does not have the sums of a %s test", r.Start.Test.Protocol)
	}
	if udp && sent == nil && total.Sender {
		sent = total // before 3.12 there is one sum, with the sender's bytes
	}
	if sent != nil && *sent.Bytes > 0 {
		fields["bandwidth_sent"+suffix], fields["bytes_sent"+suffix], fields["seconds"] = *sent.Bandwidth, *sent.Bytes, *sent.Seconds
		if !udp {
			put(fields, "retransmits"+suffix, sent.Retransmits)
		}
	}
	if received != nil && *received.Bytes > 0 {
		fields["bandwidth_received"+suffix], fields["bytes_received"+suffix], fields["seconds"] = *received.Bandwidth, *received.Bytes, *received.Seconds
	}
	if udp {
		at := total
		if received != nil && *received.Bytes > 0 {
			at = received
		}
		if at.Packets == nil || *at.Packets == 0 || at.Jitter == nil || at.Lost == nil || at.LostPercent == nil {
			return fmt.Errorf("iperf3 counted no packet")
		}
		fields["seconds"] = *at.Seconds
		put(fields, "jitter_ms"+suffix, at.Jitter)
		put(fields, "packets"+suffix, at.Packets)
		put(fields, "lost_packets"+suffix, at.Lost)
		put(fields, "lost_percent"+suffix, at.LostPercent)
	} else if *sent.Bytes == 0 && *received.Bytes == 0 {
		return fmt.Errorf("iperf3 transferred nothing")
	}
	return nil
}

var iperf3Asked = settingsAt(map[string]string{
	"version": "start.version", "protocol": "start.test_start.protocol", "streams": "start.test_start.num_streams", "length": "start.test_start.blksize",
	"seconds": "start.test_start.duration", "bitrate": "$..target_bitrate",
})

// iperf3Settings reads how a test was asked for. The side of the connection is one of
// them: a server's values are others than a client's.
func iperf3Settings(stdout []byte) map[string]string {
	var report struct {
		Start struct {
			Connecting *struct{} `json:"connecting_to"`
			Accepted   *struct{} `json:"accepted_connection"`
			Test       struct {
				Reverse *float64 `json:"reverse"`
			} `json:"test_start"`
		} `json:"start"`
		End struct {
			TCP *struct{} `json:"sum_sent_bidir_reverse"`
			UDP *struct{} `json:"sum_bidir_reverse"`
		} `json:"end"`
	}
	if !documentIn(stdout, &report) {
		return nil
	}
	s, found := report.Start, iperf3Asked(stdout)
	switch {
	case report.End.TCP != nil || report.End.UDP != nil:
		found["direction"] = "both"
	case s.Test.Reverse != nil && *s.Test.Reverse == 1:
		found["direction"] = "reverse"
	case s.Test.Reverse != nil:
		found["direction"] = "forward"
	}
	switch {
	case s.Accepted != nil:
		found["side"] = "server"
	case s.Connecting != nil:
		found["side"] = "client"
	}
	return found
}

func put(fields map[string]float64, name string, v *float64) {
	if v != nil {
		fields[name] = *v
	}
}

// iperf3Series returns the intervals of the reporting side. A point has the time
// at which its interval begins; omitted intervals are left out.
func iperf3Series(stdout []byte) (map[string][]Point, error) {
	if _, err := parseIperf3(stdout); err != nil {
		return nil, err
	}
	report, err := iperf3Document(stdout)
	if err != nil {
		return nil, err
	}
	series := map[string][]Point{}
	for i, interval := range report.Intervals {
		for suffix, s := range map[string]*iperf3Sum{"": interval.Sum, "_reverse": interval.Reverse} {
			if s == nil && suffix != "" || s != nil && s.Omitted {
				continue
			} else if s != nil && s.Bandwidth == nil && s.Seconds != nil && *s.Seconds == 0 {
				continue // bits in no time: iperf3 prints null
			} else if s == nil || s.Start == nil || s.Bandwidth == nil {
				return nil, fmt.Errorf("interval %d of iperf3's report has no start or bits_per_second", i+1)
			}
			name := "bandwidth_received"
			if s.Sender {
				name = "bandwidth_sent"
			}
			for n, v := range map[string]*float64{name: s.Bandwidth, "retransmits": s.Retransmits, "jitter_ms": s.Jitter} {
				if v != nil {
					series[n+suffix] = append(series[n+suffix], Point{Second: *s.Start, Value: *v})
				}
			}
		}
	}
	return series, nil
}

// splitIperf3 splits concatenated reports, or a list of them. A server that was
// stopped while it waited prints a report with an error, which is not a run.
func splitIperf3(file []byte) ([][]byte, error) {
	documents, err := splitJSON(file)
	if err != nil {
		return nil, err
	}
	var runs [][]byte
	for _, d := range documents {
		list := []json.RawMessage{d}
		if d[0] == '[' {
			if err := json.Unmarshal(d, &list); err != nil {
				return nil, fmt.Errorf("the list of iperf3's reports: %w", err)
			}
		}
		for _, raw := range list {
			var report iperf3Report
			if err := json.Unmarshal(raw, &report); err != nil {
				return nil, fmt.Errorf("report %d of iperf3's: %w", len(runs)+1, err)
			}
			if farewell := report.Error != nil && len(report.Intervals) == 0 &&
				*report.Error == "interrupt - the server has terminated"; !farewell {
				runs = append(runs, raw)
			}
		}
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("none of iperf3's reports has a test")
	}
	return runs, nil
}
