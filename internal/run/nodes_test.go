package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/rundir"
	"tare/internal/study"
)

// spread is bare on the nodes of a cluster.
type spread struct {
	bare
	beside bool // for roles on the host
}

// The cluster of the test: which nodes can be used, and where instances started.
var cluster struct {
	sync.Mutex
	nodes   []string
	broken  string // on which nothing starts
	started []string
}

func init() {
	environment.Register(environment.Registration{
		Kind: "spread", About: "bare, on the nodes of a cluster",
		Capabilities: func(any) environment.Capabilities { return environment.Capabilities{Placed: true} },
		Options:      func() any { return &spread{} },
		Requires:     func(any) []environment.Requirement { return nil },
		New:          func(o any) (environment.Environment, error) { return o.(*spread), nil },
	})
}

func (s *spread) Nodes(context.Context) ([]string, error) {
	cluster.Lock()
	defer cluster.Unlock()
	return slices.Clone(cluster.nodes), nil
}

func (s *spread) Beside() environment.Environment { return &spread{beside: true} }

func (s *spread) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	return podNetwork{}, nil
}

// podNetwork is there without being made.
type podNetwork struct{}

func (podNetwork) Path() string                { return "the network of the cluster" }
func (podNetwork) Host() string                { return "" }
func (podNetwork) Close(context.Context) error { return nil }

func (s *spread) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	cluster.Lock()
	what := r.Node
	if s.beside {
		what += " beside"
	}
	cluster.started = append(cluster.started, what)
	broken := r.Node == cluster.broken
	cluster.Unlock()
	if broken {
		return nil, fmt.Errorf("node %s is not ready", r.Node)
	}
	return s.bare.Start(ctx, r)
}

// onCluster runs a plan on nodes, and returns where instances started, each once.
func onCluster(t *testing.T, o Options, broken string, nodes ...string) (*Result, []string) {
	t.Helper()
	cluster.Lock()
	cluster.nodes, cluster.broken, cluster.started = nodes, broken, nil
	cluster.Unlock()
	r := execute(t, t.Context(), o)
	cluster.Lock()
	defer cluster.Unlock()
	return r, unique(slices.Clone(cluster.started))
}

const placedTwo = "{a: {kind: spread}, b: {kind: spread}}"

// trialsOf counts the trials with a status of each node.
func trialsOf(r *Result, status rundir.Status) map[string]int {
	on := map[string]int{}
	for _, trial := range r.Run.Trials {
		if trial.Status == status {
			on[trial.Node]++
		}
	}
	return on
}

func TestBlocksOfAClusterStayOnOneNodeUnlessTheStudyNamesMore(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes study.Nodes
		want  []string
	}{
		{"none is named", study.Nodes{}, []string{"n1"}},
		{"two", study.Nodes{Count: 2}, []string{"n1", "n2"}},
		{"all", study.Nodes{All: true}, []string{"n1", "n2", "n3"}},
		{"by name", study.Nodes{Names: []string{"n3", "n2"}, Parallel: 1}, []string{"n3", "n2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan(t, "[{use: ./echo.yaml}]", "{blocks: 6, order: interleaved}", placedTwo)
			p.Nodes = c.nodes
			r, started := onCluster(t, Options{Plan: p}, "", "n1", "n2", "n3")
			if !slices.Equal(r.Run.Manifest.Nodes, c.want) || !slices.Equal(started, slices.Sorted(slices.Values(c.want))) {
				t.Errorf("nodes %q, instances on %q", r.Run.Manifest.Nodes, started)
			}
			on, all := trialsOf(r, rundir.OK), 0
			for _, node := range c.want {
				if all += on[node]; on[node] == 0 {
					t.Errorf("nothing ran on %s: %v", node, on)
				}
			}
			if all != 12 {
				t.Errorf("%d trials: %v", all, on)
			}
			prints := map[string]bool{}
			for _, f := range r.Run.Fingerprints {
				prints[f.Environment+" on "+f.Node] = true
			}
			if len(prints) != 2*len(c.want) || len(r.Run.Fingerprints) != len(prints) {
				t.Errorf("there are fingerprints of %v", prints)
			}
		})
	}
}

func TestARunGoesOnWithoutANodeThatStartsNothing(t *testing.T) {
	home := t.TempDir()
	p := plan(t, "[{use: ./echo.yaml}]", "{blocks: 6, order: interleaved}", placedTwo)
	p.Nodes = study.Nodes{All: true}
	var notes []string
	r, _ := onCluster(t, Options{Home: home, Plan: p, Events: func(e Event) {
		if e.Kind == Noted {
			notes = append(notes, e.Message)
		}
	}}, "n2", "n1", "n2")
	gone := r.Run.Manifest.Sessions[0].Gone
	if on := trialsOf(r, rundir.OK); on["n1"] < 8 || on["n2"] > 0 || !strings.Contains(gone["n2"], "node n2 is not ready") {
		t.Errorf("trials on %v, gone are %q", on, gone)
	}
	if !slices.ContainsFunc(notes, func(note string) bool { return strings.HasPrefix(note, "node n2 gets no more blocks: ") }) {
		t.Errorf("the notes are %q", notes)
	}
	cluster.Lock()
	cluster.nodes = []string{"n2", "n3"} // n1 is gone, and n3 was not of the run
	cluster.broken = "n2"
	cluster.Unlock()
	if _, err := Execute(t.Context(), Options{Home: home, Directory: r.Directory}); err != nil {
		t.Errorf("a run that is over is resumed: %v", err)
	}
	markOver(t, r.Directory, false)
	cluster.Lock()
	cluster.nodes = []string{"n3"}
	cluster.Unlock()
	if _, err := Execute(t.Context(), Options{Home: home, Directory: r.Directory}); err == nil || !strings.Contains(err.Error(), "no node can be used; n1: a, b cannot run on n1 now; n2: ") {
		t.Errorf("without any of its nodes: %v", err)
	}
}

func TestMoreNodesThanThereAreStartNothing(t *testing.T) {
	cluster.Lock()
	cluster.nodes, cluster.started = []string{"n1"}, nil
	cluster.Unlock()
	p := plan(t, "[{use: ./echo.yaml}]", "{blocks: 2}", placedTwo)
	p.Nodes = study.Nodes{Count: 3}
	_, err := Execute(t.Context(), Options{Home: t.TempDir(), Plan: p})
	if err == nil || !strings.Contains(err.Error(), "nodes: 3, and a, b can run on 1: n1") || len(cluster.started) > 0 {
		t.Errorf("%v; started %q", err, cluster.started)
	}
}

// The roles on the host of a pair are in instances beside, on its second node.
func TestRolesOnTheHostOfAPairAreOnItsSecondNode(t *testing.T) {
	p := plan(t, "[{use: ./outside.yaml}]", "{blocks: 2, order: interleaved}", placedTwo)
	p.Nodes = study.Nodes{Names: []string{"n1+n2"}}
	r, started := onCluster(t, Options{Plan: p}, "", "n1", "n2")
	if want := []string{"n2 beside"}; !slices.Equal(slices.DeleteFunc(started, func(s string) bool { return s == "n1" }), want) || trialsOf(r, rundir.OK)["n1+n2"] != 4 {
		t.Errorf("started on %q, trials on %v: %+v", started, trialsOf(r, rundir.OK), r.Run.Trials[0].Reason)
	}
}
