package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// The users of the API server, by their tokens.
const (
	self, selfToken = "kubevirt-double", "double"
	user, userToken = "tare-tester", "tester"
	namespace       = "tests"
	logEnd          = 2000 // bytes
)

// control is etcd and an API server.
type control struct {
	folder    string
	processes []*exec.Cmd
	config    *rest.Config // of an administrator
	pair      [2]string    // files of a certificate for 127.0.0.1, which signs itself, and its key
}

func startControl(folder, kubeall string) (_ *control, err error) {
	c := &control{folder: folder}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if err := c.write(); err != nil {
		return nil, err
	}
	var ports [3]string
	for n := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, ports[n], _ = net.SplitHostPort(l.Addr().String())
		l.Close()
	}
	etcd, peer := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	if err := c.start(kubeall, "etcd", "--data-dir", c.file("etcd"), "--unsafe-no-fsync", "--log-level", "warn", "--name", "tests",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "tests="+peer); err != nil {
		return nil, err
	}
	if err := c.start(kubeall, "kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", ports[2],
		"--advertise-address", "192.0.2.1", "--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.96.0.0/24",
		"--tls-cert-file", c.pair[0], "--tls-private-key-file", c.pair[1], "--authorization-mode", "RBAC", "--token-auth-file", c.file("tokens"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", c.file("accounts.key"),
		"--service-account-signing-key-file", c.file("accounts.key"), "--disable-admission-plugins", "ServiceAccount"); err != nil {
		return nil, err
	}
	c.config = &rest.Config{Host: "https://127.0.0.1:" + ports[2], BearerToken: selfToken, TLSClientConfig: rest.TLSClientConfig{CAFile: c.pair[0]}, QPS: 1000, Burst: 1000}
	return c, c.ready()
}

func (c *control) file(name string) string { return filepath.Join(c.folder, name) }

// write writes the keys and the tokens.
func (c *control) write() error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(accounts)
	if err != nil {
		return err
	}
	c.pair = [2]string{c.file("cert.pem"), c.file("key.pem")}
	for file, content := range map[string][]byte{
		c.pair[0]: certificate, c.pair[1]: key,
		c.file("accounts.key"): pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		c.file("tokens"):       fmt.Appendf(nil, "%s,%s,1,system:masters\n%s,%s,2\n", selfToken, self, userToken, user),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// start starts a part, which ends with this process.
func (c *control) start(program, part string, arguments ...string) error {
	log, err := os.Create(c.file(part + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, append([]string{part}, arguments...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.folder, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", part, err)
	}
	c.processes = append(c.processes, cmd)
	return nil
}

// ready waits until the API server answers that it is.
func (c *control) ready() error {
	client, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(context.Background())
		if err == nil {
			return nil
		}
		if time.Since(began) > 2*time.Minute {
			log, _ := os.ReadFile(c.file("kube-apiserver.log"))
			return fmt.Errorf("the API server is not ready: %w; its log ends with:\n%s", err, log[max(0, len(log)-logEnd):])
		}
	}
}

// kubeconfig writes the connection of the user.
func (c *control) kubeconfig() error {
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"tests": {Server: c.config.Host, CertificateAuthority: c.pair[0]}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {Token: userToken}},
		Contexts:       map[string]*clientcmdapi.Context{"tests": {Cluster: "tests", AuthInfo: user, Namespace: namespace}},
		CurrentContext: "tests",
	}, c.file("kubeconfig"))
}

func (c *control) stop() {
	for _, p := range c.processes {
		p.Process.Kill()
		p.Wait()
	}
}
