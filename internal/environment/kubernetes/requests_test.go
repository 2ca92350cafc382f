package kubernetes

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/testing/gobuild"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

func TestAllClientsOfAnAPIServerShareOneBoundOfRequests(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		http.NotFound(w, nil)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "config")
	connectTo(t, file, server.URL)
	began, more := time.Now(), 25
	var all sync.WaitGroup
	for range 5 { // environments with a connection each
		c, err := open(address{Kubeconfig: file, Namespace: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for range (burst + more) / 5 / 2 {
			all.Go(func() { _, _ = c.pods.get(t.Context(), "x") })
			all.Go(func() { _, _ = c.leases.get(t.Context(), "x") })
		}
	}
	all.Wait()
	beyond := served.Load() - burst
	if least := time.Duration(beyond) * time.Second / requestsPerSecond; beyond <= 0 || time.Since(began) < least-10*time.Millisecond {
		t.Errorf("%d requests took %v, not %v", served.Load(), time.Since(began), least)
	}
}

// connectTo writes a configuration of a server that asks for no user.
func connectTo(t *testing.T, file, server string) {
	t.Helper()
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: %q}}]\ncontexts: [{name: a, context: {cluster: a, namespace: tare}}]\ncurrent-context: a\n", server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// counted is a proxy of an API server that counts requests.
type counted struct {
	sync.Mutex
	seconds map[int64]int
	kinds   map[string]int
	total   int
}

// anObject is the name of an object in a path.
var anObject = regexp.MustCompile(`tare-[0-9a-z]{12}[^/]*`)

func (c *counted) count(r *http.Request) {
	c.Lock()
	defer c.Unlock()
	c.total++
	c.seconds[time.Now().Unix()]++
	what := r.Method + " " + anObject.ReplaceAllString(r.URL.Path, "NAME")
	if r.URL.Query().Get("watch") != "" {
		what = "watch" + strings.TrimPrefix(what, r.Method)
	}
	c.kinds[what]++
}

// countRequests serves the API server of an account, and writes a configuration to reach
// it through the proxy.
func countRequests(t *testing.T, account, file string) *counted {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", account)
	if err != nil {
		t.Fatal(err)
	}
	config.NextProtos = []string{"http/1.1"} // streams are upgraded connections
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = transport, -1
	c := &counted{seconds: map[int64]int{}, kinds: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.count(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	connectTo(t, file, server.URL)
	return c
}

func TestARunSendsFewRequestsToTheAPIServer(t *testing.T) {
	s := setUp(t)
	needs.Cluster(t)
	directory := t.TempDir()
	file := filepath.Join(directory, "config")
	c := countRequests(t, s.account, file)
	program, home := filepath.Join(directory, "tare"), filepath.Join(directory, "home")
	if err := gobuild.Build(program, "tare/cmd/tare"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testenv.Images(), filepath.Join(home, "images")); err != nil {
		t.Fatal(err)
	}
	pack, err := filepath.Abs("../../../cmd/tare/testdata/tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const blocks, environments = 4, 2
	study := filepath.Join(directory, "study.yaml")
	text := fmt.Sprintf("study: requests\nbaseline: runc\nnodes: all\nlimits: {cpus: 1, memory: 256MiB}\nenvironments:\n  runc: {kind: kubernetes, runtime_class: runc, kubeconfig: %[1]s}\n  gvisor: {kind: kubernetes, runtime_class: gvisor, kubeconfig: %[1]s}\nworkloads: [{use: %s}]\ndesign: {fresh: block, blocks: %d}\n", file, pack, blocks)
	if err := os.WriteFile(study, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "run", study)
	command.Env = append(os.Environ(), "TARE_HOME="+home)
	began := time.Now()
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	took := time.Since(began).Seconds()
	busiest := slices.Max(slices.Collect(maps.Values(c.seconds)))
	t.Logf("%d requests in %.0f s: %.1f a second, %d in the busiest one, %d for each of %d pods", c.total, took, float64(c.total)/took, busiest, c.total/(blocks*environments), blocks*environments)
	for _, kind := range slices.Sorted(maps.Keys(c.kinds)) {
		t.Log(c.kinds[kind], kind)
	}
	if busiest > requestsPerSecond+burst || c.total > int(took*requestsPerSecond) {
		t.Errorf("%d in %.0f s, %d in the busiest second", c.total, took, busiest)
	}
	// Two nodes of one machine took 19. A slow node is asked again every 3 seconds.
	if most := 40; c.total > most*blocks*environments {
		t.Errorf("%d requests for %d pods are more than %d for each", c.total, blocks*environments, most)
	}
}
