package kubernetes

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/environment"
)

// permission is one that a Role gives: deploy/kubernetes/role.yaml has the same.
type permission struct {
	group, resource, subresource string
	verbs                        []string
}

// permissions are those that instances with these options need.
func (o *Options) permissions() []permission {
	list := []permission{
		{"", "pods", "", []string{"create", "get", "list", "watch", "delete"}},
		{"", "pods", "attach", []string{"create", "get"}},
		{"", "events", "", []string{"list"}},
		{"coordination.k8s.io", "leases", "", []string{"create", "get", "list", "update", "delete"}},
	}
	if o.Service != "pod" {
		list = append(list, permission{"", "services", "", []string{"create", "get", "list", "delete"}})
	}
	return list
}

func requirements(o Options) []environment.Requirement {
	missing := func(fix, format string, a ...any) environment.Finding {
		return environment.Lacks(fmt.Sprintf(format, a...), environment.Advice(fix))
	}
	with := func(check func(context.Context, *cluster) environment.Finding) func(context.Context) environment.Finding {
		return func(ctx context.Context) environment.Finding {
			c, err := o.connect()
			if err != nil {
				return missing("name a kubeconfig: export KUBECONFIG=FILE, or kubeconfig: FILE in the study", "%v", err)
			}
			return check(ctx, c)
		}
	}
	answers := environment.Requirement{What: "a Kubernetes cluster that answers", Check: with(func(ctx context.Context, c *cluster) environment.Finding {
		version, err := c.version(ctx)
		if err != nil {
			return missing("look with kubectl version", "%v%s", err, c.login())
		}
		return environment.Finding{State: environment.Usable, Reason: version + ", " + c.name() + c.login()}
	})}
	if o.As == "vmi" {
		return o.ofMachines(answers, with)
	}
	list := []environment.Requirement{
		answers,
		{What: "permission for pods, attach, events and leases", Check: with(func(ctx context.Context, c *cluster) environment.Finding {
			lacks, err := c.lacks(ctx, o.permissions())
			if err != nil {
				return missing("", "%v", err)
			}
			if len(lacks) > 0 {
				return missing("kubectl apply -n "+c.Namespace+" -f deploy/kubernetes/role.yaml", "in %s the user may not: %s", c.name(), strings.Join(lacks, ", "))
			}
			return environment.Finding{State: environment.Usable}
		})},
		{What: "the RuntimeClass", Check: with(func(ctx context.Context, c *cluster) environment.Finding { return c.hasClass(ctx, o.RuntimeClass) })},
		{What: "a node that is ready", Check: with(func(ctx context.Context, _ *cluster) environment.Finding {
			nodes, err := (&pods{options: o, connect: o.connect}).Nodes(ctx)
			switch {
			case err != nil:
				return environment.Finding{State: environment.Caveat, Reason: fmt.Sprintf("%v; blocks are not spread over nodes", err)}
			case len(nodes) == 0:
				return missing("kubectl get nodes", "no node is ready and takes pods with these options (node_selector, tolerations)")
			}
			return environment.Finding{State: environment.Usable, Reason: fmt.Sprintf("%d: %s", len(nodes), strings.Join(nodes[:min(len(nodes), 5)], ", "))}
		})},
	}
	if o.Usage == "metrics" {
		list = append(list, environment.Requirement{What: "the metrics API", Check: with(func(ctx context.Context, c *cluster) environment.Finding {
			lacks, err := c.lacks(ctx, []permission{{metricsGroup, "pods", "", []string{"get"}}})
			switch {
			case err != nil:
				return missing("", "%v", err)
			case len(lacks) > 0:
				return missing("kubectl apply -n "+c.Namespace+" -f deploy/kubernetes/role-metrics.yaml", "in %s the user may not: get pods.%s", c.name(), metricsGroup)
			}
			if _, err := c.wire.Get().AbsPath(metricsPath).Do(ctx).Raw(); err != nil {
				return missing("install metrics-server, or choose usage: node", "the cluster at %s does not serve it: %v", c.Server, err)
			}
			return environment.Finding{State: environment.Usable}
		})})
	}
	return list
}

// lacks asks the API server which permissions the user does not have.
func (c *cluster) lacks(ctx context.Context, list []permission) (lacks []string, err error) {
	for _, p := range list {
		for _, verb := range p.verbs {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: c.Namespace, Verb: verb, Group: p.group, Resource: p.resource, Subresource: p.subresource,
			}}}
			answer, err := c.reviews.create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return nil, fmt.Errorf("asking what the user may do in %s: %w", c.name(), err)
			}
			if !answer.Status.Allowed {
				lacks = append(lacks, verb+" "+strings.TrimSuffix(p.resource+"/"+p.subresource, "/"))
			}
		}
	}
	return lacks, nil
}

func (c *cluster) hasClass(ctx context.Context, name string) environment.Finding {
	if name == "" {
		return environment.Finding{State: environment.Usable, Reason: "the nodes' default runtime"}
	}
	class, err := c.classes.get(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return environment.Lacks(fmt.Sprintf("the cluster at %s has no RuntimeClass %s", c.Server, name), environment.Advice("kubectl get runtimeclasses"))
	case err != nil:
		return environment.Finding{State: environment.Caveat, Reason: fmt.Sprintf("whether there is a RuntimeClass %s is not known: %v", name, err)}
	}
	return environment.Finding{State: environment.Usable, Reason: "handler " + class.Handler}
}
