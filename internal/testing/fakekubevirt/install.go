package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed objects.yaml
var objects []byte

// plurals are the resources of the kinds that are installed.
var plurals = map[string]string{
	"CustomResourceDefinition": "customresourcedefinitions", "Namespace": "namespaces", "Node": "nodes", "PersistentVolumeClaim": "persistentvolumeclaims",
	"VirtualMachine": "virtualmachines", "Role": "roles", "RoleBinding": "rolebindings", "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
	"ValidatingWebhookConfiguration": "validatingwebhookconfigurations", "ServiceAccount": "serviceaccounts",
}

// install creates the objects, the webhooks and the user's Roles.
func (d *double) install(ctx context.Context, webhooks *httptest.Server, c *control, roles []string) error {
	if err := d.create(ctx, objects); err != nil {
		return err
	}
	for _, file := range roles {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := d.create(ctx, text); err != nil {
			return err
		}
	}
	if err := d.bind(ctx); err != nil {
		return err
	}
	if err := d.create(ctx, d.configuration(webhooks, c)); err != nil {
		return err
	}
	ready := `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`
	if _, err := d.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).Patch(ctx, node, "application/merge-patch+json", []byte(ready), metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	return c.kubeconfig()
}

// create creates the objects of a YAML file. A new definition takes a moment until its
// objects can be created.
func (d *double) create(ctx context.Context, text []byte) error {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue
		}
		plural, known := plurals[o.GetKind()]
		if !known {
			return fmt.Errorf("the double does not create objects of the kind %s", o.GetKind())
		}
		if slices.Contains([]string{"Role", "RoleBinding", "ServiceAccount"}, o.GetKind()) { // their files leave the namespace open
			o.SetNamespace(namespace)
		}
		at := d.client.Resource(o.GroupVersionKind().GroupVersion().WithResource(plural))
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			_, err := at.Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{})
			if err == nil || apierrors.IsAlreadyExists(err) {
				break
			}
			if time.Since(began) > time.Minute {
				return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
			}
		}
	}
}

// bind gives the user all Roles of the namespace.
func (d *double) bind(ctx context.Context) error {
	roles, err := d.client.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, r := range roles.Items {
		text := fmt.Sprintf(`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": %q, "namespace": %q},
			"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": %q},
			"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": %q}]}`, "double-"+r.GetName(), namespace, r.GetName(), user)
		if err := d.create(ctx, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
