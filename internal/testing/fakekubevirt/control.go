package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The users of the API server, by their tokens.
const (
	self, selfToken = "kubevirt-double", "double"
	user, userToken = "tare-tester", "tester"
	namespace       = "tests"
	logEnd          = 2000 // bytes
)

// control is etcd and an API server, whose certificate nobody checks.
type control struct {
	folder, kubeall string
	processes       []*exec.Cmd
	config          *rest.Config // of an administrator
}

func startControl(folder, kubeall string) (_ *control, err error) {
	c := &control{folder: folder, kubeall: kubeall}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
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
	accounts, tokens := c.file("accounts.key"), fmt.Sprintf("%s,%s,1,system:masters\n%s,%s,2\n", selfToken, self, userToken, user)
	if err := os.WriteFile(c.file("tokens"), []byte(tokens), 0o600); err != nil {
		return nil, err
	}
	if output, err := exec.Command("ssh-keygen", "-q", "-t", "ecdsa", "-m", "PEM", "-N", "", "-f", accounts).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("making the key of service accounts: %w: %s", err, output)
	}
	etcd, peer := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	if err := c.start("etcd", "--data-dir", c.file("etcd"), "--unsafe-no-fsync", "--log-level", "warn", "--name", "tests",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "tests="+peer); err != nil {
		return nil, err
	}
	if err := c.start("kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", ports[2],
		"--advertise-address", "192.0.2.1", "--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.96.0.0/24",
		"--cert-dir", folder, "--authorization-mode", "RBAC", "--token-auth-file", c.file("tokens"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", accounts,
		"--service-account-signing-key-file", accounts, "--disable-admission-plugins", "ServiceAccount"); err != nil {
		return nil, err
	}
	c.config = &rest.Config{Host: "https://127.0.0.1:" + ports[2], BearerToken: selfToken, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 1000, Burst: 1000}
	return c, c.ready()
}

func (c *control) file(name string) string { return filepath.Join(c.folder, name) }

// start starts a part, which ends with this process.
func (c *control) start(part string, arguments ...string) error {
	log, err := os.Create(c.file(part + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(c.kubeall, append([]string{part}, arguments...)...)
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
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(c.config))
	if err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := client.Get().AbsPath("/readyz").DoRaw(context.Background())
		if err == nil {
			return nil
		}
		if time.Since(began) > 2*time.Minute {
			log, _ := os.ReadFile(c.file("kube-apiserver.log"))
			return fmt.Errorf("the API server is not ready: %w; its log ends with:\n%s", err, log[max(0, len(log)-logEnd):])
		}
	}
}

// kubectl runs a command of it as the administrator, and returns its output.
func (c *control) kubectl(input string, words ...string) (string, error) {
	own := []string{"kubectl", "--server", c.config.Host, "--token", selfToken, "--insecure-skip-tls-verify", "--namespace", namespace}
	cmd := exec.Command(c.kubeall, append(own, words...)...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "KUBECONFIG="+os.DevNull), strings.NewReader(input)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(words, " "), err, output)
	}
	return string(output), nil
}

// kubeconfig writes the connection of the user.
func (c *control) kubeconfig() error {
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"tests": {Server: c.config.Host, InsecureSkipTLSVerify: true}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {Token: userToken}},
		Contexts:       map[string]*clientcmdapi.Context{"tests": {Cluster: "tests", AuthInfo: user, Namespace: namespace}},
		CurrentContext: "tests",
	}, c.file("kubeconfig"))
}

func (c *control) stop() {
	for _, p := range c.processes {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}
