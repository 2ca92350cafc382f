package main

import (
	_ "embed"
	"strings"
)

//go:embed definitions.yaml
var definitions string

//go:embed objects.yaml
var objects string

// install creates the objects, the user's Roles, and the webhooks.
func (c *control) install(webhooks string, roles []string) error {
	const ready = `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`
	apply := []string{"apply", "--filename"}
	for _, step := range []struct {
		input string
		words []string
	}{
		{definitions, append(apply, "-")},
		{"", []string{"wait", "--for=condition=Established", "customresourcedefinitions", "--all"}},
		{objects, append(apply, "-")},
		{"", []string{"patch", "node", node, "--subresource=status", "--type=merge", "--patch", ready}},
		{"", append(apply, strings.Join(roles, ","))},
		{webhooks, append(apply, "-")},
	} {
		if _, err := c.kubectl(step.input, step.words...); err != nil {
			return err
		}
	}
	names, err := c.kubectl("", "get", "roles", "--output=name")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(names) {
		_, role, _ := strings.Cut(name, "/")
		if _, err := c.kubectl("", "create", "rolebinding", "double-"+role, "--role="+role, "--user="+user); err != nil {
			return err
		}
	}
	return c.kubeconfig()
}
