package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"tare/internal/environment/kubernetes/api"
	"tare/internal/host/cleanup"
)

// Rates of requests that one process of tare makes to an API server. Starts wait for
// their turn.
const requestsPerSecond, burst = 50, 100

// limiterOf is the limiter that all clients of an API server share. Without one in their
// configuration, each client would have its own.
var limiterOf = cleanup.OncePerKey(func(server string) (flowcontrol.RateLimiter, error) {
	return &inTurn{flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, burst), make(chan struct{}, 1)}, nil
})

// inTurn lets one request wait at a time. The limiter reads the clock before it locks
// itself, so that requests at the same time on a busy machine would come in another order
// than their times, and the same interval would count more than once.
type inTurn struct {
	flowcontrol.RateLimiter
	turn chan struct{}
}

func (l *inTurn) Wait(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	return l.RateLimiter.Wait(ctx)
}

// address says which namespace of which cluster.
type address struct {
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	Namespace  string `json:"namespace"`
	Server     string `json:"server"`
}

// cluster is a connection to a namespace.
type cluster struct {
	address
	config    *rest.Config
	wire      rest.Interface // of requests that are about no object
	pods      objects[corev1.Pod]
	services  objects[corev1.Service]
	events    objects[corev1.Event]
	leases    objects[coordinationv1.Lease]
	reviews   objects[authorizationv1.SelfSubjectAccessReview]
	nodes     objects[corev1.Node]
	classes   objects[nodev1.RuntimeClass]
	inCluster bool
	described described
}

// connect reads the configuration. It sends no request.
func (o *Options) connect() (*cluster, error) {
	return open(address{Kubeconfig: o.Kubeconfig, Context: o.Context, Namespace: o.Namespace})
}

func open(at address) (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = at.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: at.Context}
	overrides.Context.Namespace = at.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the connection to Kubernetes: %w; name a file with kubeconfig:, or set KUBECONFIG", err)
	}
	if at.Namespace, _, err = loader.Namespace(); err != nil {
		return nil, fmt.Errorf("reading the namespace: %w", err)
	}
	raw, err := loader.RawConfig()
	if at.Context == "" && err == nil {
		at.Context = raw.CurrentContext
	}
	if at.Kubeconfig == "" && len(raw.Clusters) > 0 {
		at.Kubeconfig = os.Getenv("KUBECONFIG")
	}
	quiet()
	config.RateLimiter, _ = limiterOf(config.Host)
	config.UserAgent = "tare"
	config.WarningHandler = rest.NoWarnings{}
	at.Server = config.Host
	c := &cluster{address: at, config: config, inCluster: len(raw.Clusters) == 0}
	return c, c.dial()
}

// quiet keeps what client-go logs off standard error: what fails is an error too.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// dial makes the client. It sends no request.
func (c *cluster) dial() error {
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(c.config))
	if err != nil {
		return fmt.Errorf("reading the connection to Kubernetes: %w", err)
	}
	c.wire = client
	c.use(dynamic.New(client))
	return nil
}

// use takes the objects that tare uses from a client.
func (c *cluster) use(client dynamic.Interface) {
	c.pods = objectsOf[corev1.Pod](client, corev1.SchemeGroupVersion, "Pod", c.Namespace)
	c.services = objectsOf[corev1.Service](client, corev1.SchemeGroupVersion, "Service", c.Namespace)
	c.events = objectsOf[corev1.Event](client, corev1.SchemeGroupVersion, "Event", c.Namespace)
	c.leases = objectsOf[coordinationv1.Lease](client, coordinationv1.SchemeGroupVersion, "Lease", c.Namespace)
	c.reviews = objectsOf[authorizationv1.SelfSubjectAccessReview](client, authorizationv1.SchemeGroupVersion, "SelfSubjectAccessReview", "")
	c.nodes = objectsOf[corev1.Node](client, corev1.SchemeGroupVersion, "Node", "")
	c.classes = objectsOf[nodev1.RuntimeClass](client, nodev1.SchemeGroupVersion, "RuntimeClass", "")
}

// name of the cluster in messages.
func (c *cluster) name() string {
	return fmt.Sprintf("namespace %s of the cluster at %s", c.Namespace, c.Server)
}

// login says which command the kubeconfig has run for each connection, with the rights of
// tare: the file may be anybody's. It is empty where it names none. Arguments can be secrets.
func (c *cluster) login() string {
	if c.config.ExecProvider == nil {
		return ""
	}
	return "; to log in, the kubeconfig runs " + c.config.ExecProvider.Command
}

// version asks the API server for its version.
func (c *cluster) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := c.wire.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("asking the cluster at %s for its version: %w", c.Server, err)
	}
	var version apimachineryversion.Info
	if err := json.Unmarshal(body, &version); err != nil {
		return "", fmt.Errorf("the version of the cluster at %s: %w", c.Server, err)
	}
	return version.GitVersion, nil
}

// retry repeats a request while the API server is unavailable.
func retry[T any](ctx context.Context, what string, request func(context.Context) (T, error)) (T, error) {
	answer, err := api.Retry(ctx, request)
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return answer, err
}
