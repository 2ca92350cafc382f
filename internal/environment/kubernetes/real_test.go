package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/testing/clustertest"
	"tare/internal/testing/testenv"
)

// stage is a service account of the test cluster with an owner.
type stage struct {
	account string
	image   *image.Image
	owner   *cleanup.Owner
}

func setUp(t *testing.T) *stage {
	t.Helper()
	testenv.NeedsAgent(t)
	o := defaults()
	o.Kubeconfig = filepath.Join(t.TempDir(), "none")
	if os.Getenv(clustertest.Variable) == "" {
		testenv.NeedsKind(t, kind, o)
		t.Fatal("there is a cluster without a configuration")
	}
	account, err := clustertest.Account(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	img := testenv.Image(t)
	if err := clustertest.Load(t.Context(), img); err != nil {
		t.Fatal(err)
	}
	return &stage{account, img, testenv.Owner(t, t.TempDir())}
}

func (s *stage) environment(t *testing.T, change func(*Options)) *pods {
	t.Helper()
	o := defaults()
	o.Kubeconfig = s.account
	if change != nil {
		change(o)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	return &pods{options: *o, connect: o.connect}
}

func (s *stage) request(name string) environment.Request {
	return environment.Request{Name: name, Owner: s.owner, Image: s.image, Console: io.Discard}
}

func (s *stage) start(t *testing.T, p *pods, name string) environment.Instance {
	t.Helper()
	i, err := p.Start(t.Context(), s.request(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

func kubectl(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	output, err := clustertest.Kubectl(context.Background(), input, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// nothingLeft fails where an object of the owner is in the cluster.
func (s *stage) nothingLeft(t *testing.T) {
	t.Helper()
	if left := kubectl(t, "", "get", "pods,services,leases,pvc", "-n", clustertest.Namespace, "-l", cleanup.Label+"="+s.owner.ID(), "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// quotaHolds waits until the API server refuses a pod of two processors: it learns of a new
// quota after it has stored it.
func quotaHolds(t *testing.T) {
	t.Helper()
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: two}\nspec: {containers: [{name: one, image: none, resources: {limits: {cpu: 2}}}]}\n"
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := clustertest.Kubectl(t.Context(), pod, "create", "--dry-run=server", "-n", clustertest.Namespace, "-f", "-")
		if err != nil && strings.Contains(err.Error(), "exceeded quota") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a quota of one processor refuses no pod of two after a minute: %v", err)
		}
	}
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	s := setUp(t)
	scheduleTimeout = time.Second
	defer func() { scheduleTimeout = time.Minute }()
	kubectl(t, "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: unknown}\nhandler: no-such-handler\n", "apply", "-f", "-")
	for _, c := range []struct {
		name   string
		change func(*Options)
		ask    func(*environment.Request)
		before func()
		want   string
	}{
		{"no-such-class", func(o *Options) { o.RuntimeClass = "absent" }, nil, nil, `RuntimeClass "absent" not found`},
		{"no-handler", func(o *Options) { o.RuntimeClass = "unknown" }, nil, nil, `no runtime for "no-such-handler"`},
		{"no-image", func(o *Options) { o.Image, o.Pull = "localhost/absent:1", "never" }, nil, nil, "ErrImageNeverPull"},
		{"not-pulled", func(o *Options) { o.Image = "127.0.0.1:1/absent:1" }, nil, nil, "ImagePullBackOff"},
		{"another-image", func(o *Options) { o.Image, o.Pull, o.AgentImage = "localhost/pause:1", "never", s.image.EngineName() }, nil, nil, "the pod runs another image than the run"},
		{"no-node", func(o *Options) { o.NodeSelector = map[string]string{"no": "such"} }, nil, nil, "no node takes the pod: Unschedulable"},
		{"too-much", nil, func(r *environment.Request) { r.Limits.Memory = 4096 * quantity.GiB }, nil, "Insufficient memory"},
		{"wrong-node", nil, func(r *environment.Request) { r.Node = "elsewhere" }, nil, "no node takes the pod"},
		{"no-shell", func(o *Options) { o.AgentImage = "localhost/pause:1" }, nil, nil, "/bin/sh"},
		{"quota", nil, func(r *environment.Request) { r.Limits = environment.Limits{CPUs: 2, Memory: quantity.GiB} }, func() {
			kubectl(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: small}\nspec: {hard: {limits.cpu: 1}}\n", "apply", "-n", clustertest.Namespace, "-f", "-")
			t.Cleanup(func() { kubectl(t, "", "delete", "resourcequota", "small", "-n", clustertest.Namespace) })
			quotaHolds(t)
		}, "exceeded quota"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.before != nil {
				c.before()
			}
			r := s.request(c.name)
			if c.ask != nil {
				c.ask(&r)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			i, err := s.environment(t, c.change).Start(ctx, r)
			if err == nil {
				t.Error("it started")
				_ = i.Stop(ctx)
			} else if t.Log(err); !strings.Contains(err.Error(), c.want) {
				t.Errorf("it does not say %q", c.want)
			}
			s.nothingLeft(t)
		})
	}
}

func TestAPodThatSomebodyDeletesSaysSo(t *testing.T) {
	s := setUp(t)
	i := s.start(t, s.environment(t, nil), "deleted").(*instance)
	kubectl(t, "", "delete", "pod", i.name, "-n", clustertest.Namespace, "--wait=false")
	select {
	case <-i.Client.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("nobody noticed")
	}
	if err := i.Client.Err(); !errors.Is(err, agent.ErrGone) || !strings.Contains(err.Error(), "deleted by somebody else") {
		t.Error(err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	s.nothingLeft(t)
}

func TestWhatACoordinatorLeavesIsRemovedWhenItsLeaseHasExpired(t *testing.T) {
	s := setUp(t)
	p := s.environment(t, nil)
	i := s.start(t, p, "lost").(*instance)
	c := i.cluster
	removed, err := c.sweepExpired(t.Context())
	if err != nil || len(removed) > 0 {
		t.Errorf("while its lease is young: %q, %v", removed, err)
	}
	lease, err := c.leases.get(t.Context(), leaseName(s.owner.ID()))
	if err != nil {
		t.Fatal(err)
	}
	short := int32(1)
	lease.Spec.LeaseDurationSeconds = &short
	if _, err := c.leases.update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); err == nil && len(removed) == 0 && time.Now().Before(deadline); {
		removed, err = c.sweepExpired(t.Context())
	}
	if err != nil || len(removed) != 1 || !strings.Contains(removed[0], i.name) {
		t.Errorf("after its lease has expired: %q, %v", removed, err)
	}
	s.nothingLeft(t)
}

// awayFor is how long the API server is away: some of the requests of a start fail.
const awayFor = 10 * time.Second

func TestAStartWaitsForAnAPIServerThatIsAway(t *testing.T) {
	s := setUp(t)
	p := s.environment(t, nil)
	i := s.start(t, p, "before").(*instance)
	folder := os.Getenv(clustertest.Variable)
	text, err := os.ReadFile(filepath.Join(folder, "kube-apiserver.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	back := make(chan error, 1)
	time.AfterFunc(awayFor, func() { back <- exec.Command(filepath.Join(folder, "launch"), "kube-apiserver").Run() })
	s.start(t, p, "patient")
	if took := time.Since(began); took < awayFor {
		t.Errorf("the start took %v", took)
	}
	if err := <-back; err != nil {
		t.Error(err)
	}
	select { // its stream went through the API server
	case <-i.Client.Done():
		t.Log(i.Client.Err())
	case <-time.After(30 * time.Second):
		t.Error("nobody noticed that a stream broke")
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// answers starts a server in the pod, at its own address alone, and says what it answers
// at the address of the instance.
func answers(t *testing.T, i environment.Instance, port string) string {
	t.Helper()
	server := fmt.Sprintf(`use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => "%s", LocalPort => %s, Listen => 5) or die $@; while (my $c = $s->accept) { print $c "hello\n"; close $c }`, environment.Listen(i), port)
	if _, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"perl", "-e", server}}); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Agent().Await(t.Context(), agent.Probe{TCP: net.JoinHostPort(environment.Listen(i), port), Timeout: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	// A node forwards to a new service a moment after its pod has an address.
	var c net.Conn
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var err error
		if c, err = net.DialTimeout("tcp", net.JoinHostPort(i.Address(), port), 20*time.Second); err == nil {
			break
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	defer c.Close()
	said, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

func TestARequestPassesTheServiceOfAnInstance(t *testing.T) {
	s := setUp(t)
	for _, c := range []struct {
		service, class, port string
		ports                []int
		address              func(*instance) string
	}{
		{"pod", "runc", "7213", nil, func(i *instance) string { return i.pod.Status.PodIP }},
		{"cluster_ip", "runc", "7213", []int{7213}, func(i *instance) string { return i.service }},
		{"node_port", "runc", "30713", []int{30713}, func(i *instance) string { return i.pod.Status.HostIP }},
		{"node_port", "gvisor", "30714", []int{30714}, func(i *instance) string { return i.pod.Status.HostIP }},
	} {
		t.Run(c.service+" "+c.class, func(t *testing.T) {
			i := s.start(t, s.environment(t, func(o *Options) { o.Service, o.Ports, o.RuntimeClass = c.service, c.ports, c.class }), "served-"+c.port).(*instance)
			if got, direct := i.Address(), i.Address() == environment.Listen(i); got != c.address(i) || direct != (c.service == "pod") {
				t.Errorf("the address is %s, and the pod's is %s", got, environment.Listen(i))
			}
			if said := answers(t, i, c.port); said != "hello\n" {
				t.Errorf("at %s: %q", i.Address(), said)
			}
			t.Log(i.Address(), c.port, "to", environment.Listen(i), "through", i.Paths().Network)
			if err := i.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			s.nothingLeft(t)
		})
	}
}

func TestAClaimAndADirectoryInMemoryBelongToAnInstance(t *testing.T) {
	s := setUp(t)
	p := s.environment(t, func(o *Options) {
		o.Data, o.StorageClass, o.StorageSize = "pvc", "host-path", quantity.GiB
		o.ReadOnlyRoot, o.Capabilities = true, "none"
	})
	r := s.request("claims")
	r.Mounts = []environment.Mount{{Memory: true, Size: quantity.MiB, To: "/cache"}}
	i, err := p.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Stop(context.Background()) })
	if got := testenv.Run(t, i, "echo x >/data/x && cat /data/x; touch /etc/x 2>&1 | grep -o 'Read-only'; grep CapEff /proc/self/status | cut -f2; stat -f -c %T /cache; echo y >/cache/y && cat /cache/y"); got != "x\nRead-only\n0000000000000000\ntmpfs\ny" {
		t.Errorf("inside: %q", got)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	s.nothingLeft(t)
	if left := kubectl(t, "", "get", "pvc", "-n", clustertest.Namespace, "-o", "name"); left != "" {
		t.Logf("claims that the controller still removes: %s", left)
	}
}

func TestNodesThatTakePodsAreListed(t *testing.T) {
	s := setUp(t)
	nodes, err := s.environment(t, nil).Nodes(t.Context())
	if err != nil || len(nodes) == 0 || nodes[0] != "node-1" {
		t.Errorf("%q, %v", nodes, err)
	}
	if nodes, err := s.environment(t, func(o *Options) { o.NodeSelector = map[string]string{"no": "such"} }).Nodes(t.Context()); err != nil || len(nodes) > 0 {
		t.Errorf("with another selector: %q, %v", nodes, err)
	}
	for _, r := range requirements(s.environment(t, func(o *Options) { o.RuntimeClass = "gvisor" }).options) {
		if f := r.Check(t.Context()); f.State != environment.Usable {
			t.Errorf("%s: %+v", r.What, f)
		} else {
			t.Log(r.What, f)
		}
	}
}
