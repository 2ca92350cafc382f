package exporter_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tare/internal/metrics/exporter"
	"tare/internal/run"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/testing/metricstest"
	"tare/internal/testing/prometheustest"
	"tare/internal/usage"
)

func listen(t *testing.T) *exporter.Listener {
	t.Helper()
	l, err := exporter.Listen("127.0.0.1:0", "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// get requests a page with an Accept header.
func get(t *testing.T, l *exporter.Listener, path, accept string) (status int, kind, text string) {
	t.Helper()
	request, err := http.NewRequest("GET", "http://"+l.Address()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), string(body)
}

// begin sends a listener the events of the sample run, up to the middle of a trial.
func begin(l *exporter.Listener) {
	l.Update(run.Event{Kind: run.Opened, Run: &rundir.Run{Manifest: metricstest.Manifest(), Plan: metricstest.Plan()}})
	l.Update(run.Event{Kind: run.Preparing, Message: "image"})
	for i, t := range metricstest.Trials()[:8] {
		slot := &schedule.Slot{Block: t.Block, Environment: t.Environment, Workload: t.Workload, Level: t.Level}
		if t.Position == 1 {
			l.Update(run.Event{Kind: run.Block, Slot: slot, Progress: schedule.Progress{Block: t.Block, MaxBlock: 12}})
		}
		l.Update(run.Event{Kind: run.Trying, Slot: slot, Progress: schedule.Progress{Block: t.Block, Done: i, Remaining: time.Minute}})
		if i < 7 {
			l.Update(run.Event{Kind: run.Tried, Slot: slot, Trial: &t, Contrasts: metricstest.Contrasts(metricstest.Trials()[:i+1]), Progress: schedule.Progress{Block: t.Block, Done: i + 1, Remaining: time.Minute}})
		}
	}
}

func TestPrometheusScrapesARunAndItsCountersRise(t *testing.T) {
	l := listen(t)
	begin(l)
	s := prometheustest.Scrape(t, l.Address())
	s.Until(t, `tare_run_info{job="tare",run="`+metricstest.Name+`",study="made up"}`, func(found []float64) bool { return len(found) == 1 })
	onReading := l.Watch("", subject.Cell{Environment: "docker", Workload: "redis"})
	seconds := 0.0
	s.Until(t, `rate(tare_environment_disk_written_bytes_total{environment="docker"}[10s])`, func(found []float64) bool {
		seconds += .1
		onReading(metricstest.Reading(seconds))
		return len(found) == 1 && found[0] > 0
	})
	for expression, want := range map[string]float64{
		`sum(tare_trials_total)`:            7,
		`tare_run_state{state="running"}`:   1,
		`tare_run_state{state="preparing"}`: 0,
		`tare_trial_running_info{environment="docker",level="clients=10",block="2"}`:       1,
		`count(tare_contrast_verdict{environment="docker",metric="get"} == 1)`:             2,
		`sum(tare_start_duration_seconds_count)`:                                           4,
		`tare_build_info{version="test"}`:                                                  1,
		`count(process_cpu_seconds_total{job="tare"})`:                                     1,
		`count(tare_machine_stall_seconds_total) or vector(3)`:                             3,
		`tare_run_expected_end_timestamp_seconds > bool time()`:                            1,
		`max(resets(tare_environment_disk_written_bytes_total{environment="docker"}[1m]))`: 0,
		`tare_trial_metric{environment="native",level="clients=1",metric="get_p99"}`:       1.5,
		// And who used the processor, and for how long it was watched.
		`count(count by (__name__) ({__name__=~"tare_environment_.*",environment="docker"}))`: float64(len(usage.Quantities) + 2),
	} {
		if got := s.Query(t, expression, time.Time{}); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
}

func TestPromtoolAcceptsTheTextAndOpenMetricsIsNegotiated(t *testing.T) {
	l := listen(t)
	begin(l)
	_, kind, text := get(t, l, "/metrics", "")
	if !strings.HasPrefix(kind, "text/plain") {
		t.Errorf("the plain text is %s", kind)
	}
	if output := prometheustest.Promtool(t, text, "check", "metrics"); output != "" {
		t.Errorf("promtool check metrics: %s", output)
	}
	_, kind, text = get(t, l, "/metrics", "application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("asked for OpenMetrics, got %s: ...%q", kind, text[max(0, len(text)-20):])
	}
}

func TestTheIndexSaysWhatRuns(t *testing.T) {
	l := listen(t)
	if _, _, text := get(t, l, "/", ""); !strings.Contains(text, "no run has been opened yet") {
		t.Errorf("before the run: %s", text)
	}
	begin(l)
	status, kind, text := get(t, l, "/", "")
	want := "run " + metricstest.Name + ": running, block 2, redis clients=10 in docker\n"
	if status != 200 || !strings.HasPrefix(kind, "text/plain") || !strings.Contains(text, want) || !strings.Contains(text, "/metrics") {
		t.Errorf("status %d, %s:\n%s", status, kind, text)
	}
	if status, _, _ := get(t, l, "/elsewhere", ""); status != 404 {
		t.Errorf("another page has status %d", status)
	}
}

func TestMetricsOfTheProgramAreServedBeforeThereIsARun(t *testing.T) {
	l := listen(t)
	if l.Watch("", subject.Cell{Environment: "native", Workload: "redis"}) != nil {
		t.Error("somebody hears the sampler without a run")
	}
	if status, _, text := get(t, l, "/metrics", ""); status != 200 || !strings.Contains(text, "tare_build_info") || strings.Contains(text, "tare_run_info") {
		t.Errorf("status %d:\n%s", status, text)
	}
}

func TestAnUnavailableAddressIsRejectedWithAHint(t *testing.T) {
	taken := listen(t).Address()
	for address, want := range map[string]string{
		taken:            "the port is in use",
		"9464":           "must be HOST:PORT",
		"127.0.0.1":      "must be HOST:PORT",
		"192.0.2.1:9464": "choose an address of this machine",
		"127.0.0.1:port": "must be HOST:PORT",
	} {
		l, err := exporter.Listen(address, "test")
		if err == nil {
			l.Close()
			t.Errorf("%s was taken", address)
		} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v; want %q", address, err, want)
		}
	}
}

func TestItIsKnownWhetherOthersReachTheAddress(t *testing.T) {
	if !listen(t).Local() {
		t.Error("127.0.0.1 is not local")
	}
	l, err := exporter.Listen(":0", "test")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Local() {
		t.Error("all addresses of the machine are local")
	}
}

func TestCloseStopsListening(t *testing.T) {
	l := listen(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", l.Address()); err == nil {
		c.Close()
		t.Error("the address still answers")
	}
}
