package kubernetes

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAllClientsOfAnAPIServerShareOneBoundOfRequests(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		http.NotFound(w, nil)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: %q}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n", server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	began, more := time.Now(), 25
	var all sync.WaitGroup
	for range 5 { // environments with a connection each
		c, err := open(address{Kubeconfig: file, Namespace: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for range (burst + more) / 5 / 2 {
			all.Go(func() { _, _ = c.core.Pods("x").Get(t.Context(), "x", metav1.GetOptions{}) })
			all.Go(func() { _, _ = c.leases.Get(t.Context(), "x", metav1.GetOptions{}) })
		}
	}
	all.Wait()
	beyond := served.Load() - burst
	if least := time.Duration(beyond) * time.Second / requestsPerSecond; beyond <= 0 || time.Since(began) < least-10*time.Millisecond {
		t.Errorf("%d requests took %v, not %v", served.Load(), time.Since(began), least)
	}
}
