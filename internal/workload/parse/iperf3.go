package parse

import (
	"encoding/json"
	"fmt"
	"strings"
)

type iperf3Report struct {
	Start struct {
		Version   string    `json:"version"`
		Cookie    string    `json:"cookie"`
		Connected *struct{} `json:"connecting_to"`       // the client's side
		Accepted  *struct{} `json:"accepted_connection"` // the server's
		Test      *struct {
			Protocol string   `json:"protocol"`
			Streams  float64  `json:"num_streams"`
			Reverse  *float64 `json:"reverse"`
		} `json:"test_start"`
	} `json:"start"`
	Intervals []struct {
		Sum     *iperf3Sum `json:"sum"`
		Streams []struct {
			Window  float64 `json:"snd_cwnd"`
			Omitted bool    `json:"omitted"`
		} `json:"streams"`
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

// sentAnything says whether there is such a sum, of more than nothing.
func (s *iperf3Sum) sentAnything() bool { return s != nil && *s.Bytes > 0 }

func (r *reading) iperf3() *iperf3Report {
	var report iperf3Report
	decode("iperf3's JSON", r.stdout, r.lines, &report)
	switch {
	case report.Error != nil:
		fail("iperf3 reports %q", clip(*report.Error))
	case !strings.HasPrefix(report.Start.Version, "iperf 3."):
		fail("the report is of %q and not of iperf 3", clip(report.Start.Version))
	case report.Start.Test == nil || report.End == nil:
		fail("iperf3's report has no test")
	case report.Start.Test.Protocol != "TCP" && report.Start.Test.Protocol != "UDP":
		fail("the output of iperf3 over %q is not supported", clip(report.Start.Test.Protocol))
	}
	return &report
}

// at decodes a part of the end; it reports whether there is one.
func (report *iperf3Report) at(name string, into any) bool {
	raw, there := report.End[name]
	if there {
		if err := json.Unmarshal(raw, into); err != nil {
			fail("%s of iperf3's report: %w", name, err)
		}
	}
	return there
}

// sum returns one of the sums at the end, nil if the report has none.
func (report *iperf3Report) sum(name string) *iperf3Sum {
	s := &iperf3Sum{}
	if !report.at(name, s) {
		return nil
	}
	if s.Seconds == nil || s.Bytes == nil || s.Bandwidth == nil {
		fail("%s of iperf3's report has no seconds, bytes or bits_per_second", name)
	}
	return s
}

func readIperf3(r *reading) {
	report := r.iperf3()
	r.fields["streams"] = report.Start.Test.Streams
	r.iperf3Way(report, "", "")
	r.iperf3Way(report, "_bidir_reverse", "_reverse")
	r.iperf3Window(report)
	var cpu struct {
		Local  *float64 `json:"host_total"`
		Remote *float64 `json:"remote_total"`
	}
	report.at("cpu_utilization_percent", &cpu)
	r.add("cpu_local_percent", cpu.Local)
	if cpu.Remote != nil && (*cpu.Remote > 0 || report.Start.Accepted == nil) {
		r.add("cpu_remote_percent", cpu.Remote)
	}
}

// iperf3Way adds the fields of one direction. A side reports 0 for what it cannot
// know: a server for what was sent to it and with which CPU time, sum_sent for
// jitter and loss. Such zeros are left out.
func (r *reading) iperf3Way(report *iperf3Report, name, suffix string) {
	total, sent, received := report.sum("sum"+name), report.sum("sum_sent"+name), report.sum("sum_received"+name)
	udp := report.Start.Test.Protocol == "UDP"
	if total == nil && sent == nil && received == nil && suffix != "" {
		return
	} else if udp && total == nil || !udp && (sent == nil || received == nil) {
		fail("the end of iperf3's report does not have the sums of a %s test", report.Start.Test.Protocol)
	}
	if udp && sent == nil && total.Sender {
		sent = total // before 3.12 there is one sum, with the sender's bytes
	}
	add := func(s *iperf3Sum, which string) {
		if s.sentAnything() {
			r.fields["bandwidth_"+which+suffix], r.fields["bytes_"+which+suffix], r.fields["seconds"] = *s.Bandwidth, *s.Bytes, *s.Seconds
		}
	}
	if add(sent, "sent"); !udp && sent.sentAnything() {
		r.add("retransmits"+suffix, sent.Retransmits)
	}
	add(received, "received")
	if udp {
		at := total
		switch {
		case received.sentAnything():
			at = received
		case total.Sender && report.Start.Accepted != nil:
			return // a client tells the server nothing of what it received
		case received != nil:
			fail("iperf3's receiver counted no packet: nothing arrived")
		}
		if at.Packets == nil || *at.Packets == 0 || at.Jitter == nil || at.Lost == nil || at.LostPercent == nil {
			fail("iperf3 counted no packet")
		}
		r.fields["seconds"] = *at.Seconds
		r.add("jitter_ms"+suffix, at.Jitter)
		r.add("packets"+suffix, at.Packets)
		r.add("lost_packets"+suffix, at.Lost)
		r.add("lost_percent"+suffix, at.LostPercent)
	} else if *sent.Bytes == 0 && *received.Bytes == 0 {
		fail("iperf3 counted no byte: no interval of the test was complete")
	}
}

// iperf3Window adds the mean congestion window of the streams that this side sends.
func (r *reading) iperf3Window(report *iperf3Report) {
	sum, n := 0., 0.
	for _, interval := range report.Intervals {
		for _, s := range interval.Streams {
			if s.Window > 0 && !s.Omitted {
				sum, n = sum+s.Window, n+1
			}
		}
	}
	if n > 0 {
		r.fields["cwnd"] = sum / n
	}
}

func iperf3ID(stdout []byte) string {
	var report iperf3Report
	documentIn(stdout, &report)
	return report.Start.Cookie
}

// iperf3Settings adds the direction, and the side of the connection: a server's values are
// others than a client's.
func iperf3Settings(stdout []byte, found map[string]string) map[string]string {
	var report iperf3Report
	if found == nil || !documentIn(stdout, &report) {
		return nil
	}
	start := report.Start
	_, tcp := report.End["sum_sent_bidir_reverse"]
	_, udp := report.End["sum_bidir_reverse"]
	switch {
	case tcp || udp:
		found["direction"] = "both"
	case start.Test == nil || start.Test.Reverse == nil:
	case *start.Test.Reverse == 1:
		found["direction"] = "reverse"
	default:
		found["direction"] = "forward"
	}
	switch {
	case start.Accepted != nil:
		found["side"] = "server"
	case start.Connected != nil:
		found["side"] = "client"
	}
	return found
}

// iperf3Series adds the intervals of the reporting side. A point has the time
// at which its interval begins; omitted intervals are left out.
func iperf3Series(r *reading) {
	for i, interval := range r.iperf3().Intervals {
		for suffix, s := range map[string]*iperf3Sum{"": interval.Sum, "_reverse": interval.Reverse} {
			if s == nil && suffix != "" || s != nil && s.Omitted {
				continue
			} else if s != nil && s.Bandwidth == nil && s.Seconds != nil && *s.Seconds == 0 {
				continue // bits in no time: iperf3 prints null
			} else if s == nil || s.Start == nil || s.Bandwidth == nil {
				fail("interval %d of iperf3's report has no start or bits_per_second", i+1)
			}
			name := "bandwidth_received"
			if s.Sender {
				name = "bandwidth_sent"
			}
			for n, v := range map[string]*float64{name: s.Bandwidth, "retransmits": s.Retransmits, "jitter_ms": s.Jitter} {
				if v != nil {
					r.series[n+suffix] = append(r.series[n+suffix], Point{Second: *s.Start, Value: *v})
				}
			}
		}
	}
}

var (
	// iperf3Beside are lines that -J has before the report, with -f or -V.
	iperf3Beside = expression(`(?m)^(?:warning: .*|Control connection MSS \d+)$`)
	iperf3Debug  = expression(`^(?:warning: Debug output \(-d\) may interfere with JSON|send_parameters:$)`)
	iperf3Text   = expression(`^(?:Connecting to host |Server listening on |\[ *ID\] Interval )`)
)

// splitIperf3 splits concatenated reports, or a list of them. A server that was
// stopped while it waited prints a report with an error, which is not a run.
func splitIperf3(file []byte) ([][]byte, error) {
	for at, line := range eachLine(file) {
		if iperf3Debug.match(line) {
			return nil, atLine(at.number, fmt.Errorf("%q: with -d iperf3 prints messages between its JSON; run it without -d", clip(line)))
		}
		if iperf3Text.match(line) {
			return nil, atLine(at.number, fmt.Errorf("%q is of iperf3's text: tare reads its JSON, which has all digits; run it with -J", clip(line)))
		}
	}
	documents, err := splitJSON(iperf3Beside.compiled().ReplaceAll(file, nil))
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
