package faults

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/host/cleanup"
	"tare/internal/testing/clustertest"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// inCluster returns the kubeconfig of a service account that has the Role of
// deploy/kubernetes in these namespaces, which are made for the test.
func inCluster(t *testing.T, namespaces ...string) (kubeconfig string) {
	t.Helper()
	needs.Cluster(t)
	testenv.NeedsAgent(t)
	account, err := clustertest.Account(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := clustertest.Load(t.Context(), testenv.Image(t)); err != nil {
		t.Fatal(err)
	}
	for _, name := range namespaces {
		kubectl(t, "", "create", "namespace", name)
		t.Cleanup(func() { kubectl(t, "", "delete", "namespace", name, "--ignore-not-found", "--wait=false") })
		kubectl(t, "", "wait", "-n", name, "--for=create", "serviceaccount/default", "--timeout=60s") // no pod is admitted before
		kubectl(t, "", "apply", "-n", name, "-f", "../../../deploy/kubernetes/role.yaml")
		kubectl(t, "", "create", "rolebinding", "account", "-n", name, "--role=tare", "--serviceaccount="+clustertest.Namespace+":tare")
	}
	return account
}

func kubectl(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	output, err := clustertest.Kubectl(context.Background(), input, arguments...)
	if err != nil {
		t.Error(err)
	}
	return output
}

// podStudy writes a study of pods and returns its file. Each environment is a line of
// options; %s in head are lines of the study itself, such as its nodes.
func podStudy(t *testing.T, kubeconfig string, environments []string, head, with, design string) string {
	t.Helper()
	pack, err := filepath.Abs("testdata/pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := "study: pods with a fault\nbaseline: runc\n" + head + "environments:\n"
	for _, e := range environments {
		name, options, _ := strings.Cut(e, ": ")
		text += fmt.Sprintf("  %s: {kind: kubernetes, kubeconfig: %s%s}\n", name, kubeconfig, strings.TrimSuffix(", "+options, ", "))
	}
	file := filepath.Join(t.TempDir(), "study.yaml")
	text += fmt.Sprintf("workloads:\n  - {use: %s%s}\ndesign: %s\n", pack, with, design)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// working waits for a pod of the session in which the driver is at work.
func (s *Session) working() (pod, node string) {
	s.t.Helper()
	s.WaitFor("a pod at work", func() bool {
		for node, pod = range s.atWork() {
			return true
		}
		return false
	})
	return pod, node
}

// atWork are pods of the session in which the driver is at work, one of each node.
func (s *Session) atWork() map[string]string {
	text, err := clustertest.Kubectl(s.t.Context(), "", "get", "pods", "-A", "-l", cleanup.Label, "-o",
		`jsonpath={range .items[*]}{.metadata.labels.tare\.owner} {.metadata.uid} {.metadata.name} {.spec.nodeName}{"\n"}{end}`)
	if err != nil {
		return nil
	}
	pods := map[string]string{}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 4 && strings.HasPrefix(fields[0], s.Run.Home.ids) && inPod(fields[1]) > 0 {
			pods[fields[3]] = fields[2]
		}
	}
	return pods
}

// inPod is the driver's process in a pod of this machine; 0 where there is none.
func inPod(uid string) int {
	files, _ := filepath.Glob("/proc/[0-9]*")
	for _, file := range files {
		if p := processAt(file); strings.Contains(p.group, uid) && strings.Contains(p.line, "fault-driver") {
			return p.pid
		}
	}
	return 0
}

// stopPart kills a part of the cluster.
func stopPart(t *testing.T, part string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv(clustertest.Variable), part+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatalf("stopping %s: %v", part, err)
	}
}

func launch(t *testing.T, part string) {
	if out, err := exec.Command(filepath.Join(os.Getenv(clustertest.Variable), "launch"), part).CombinedOutput(); err != nil {
		t.Errorf("launching %s: %v: %s", part, err, out)
	}
}

// silentWatches is a kubeconfig of a proxy before the API server that answers no watch.
func silentWatches(t *testing.T, account string) (kubeconfig string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", account)
	if err != nil {
		t.Fatal(err)
	}
	config.NextProtos = []string{"http/1.1"} // whose connections can be upgraded
	behind, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: behind, FlushInterval: -1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			<-r.Context().Done()
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		utilnet.CloseIdleConnectionsFor(behind)
	})
	kubeconfig = filepath.Join(t.TempDir(), "proxied.kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, clusters: [{name: a, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {}}], current-context: a}", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}
