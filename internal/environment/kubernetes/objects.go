package kubernetes

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// corePath begins the paths of pods and nodes.
const corePath = "/api/v1"

// objects are those of one type in a namespace, or in the whole cluster. client-go's
// client for one type would bring the types of all others into tare.
type objects[T any] struct {
	client dynamic.ResourceInterface
	kind   schema.GroupVersionKind
}

// objectsOf are those of a kind; the namespace is empty for one that has none.
func objectsOf[T any](client dynamic.Interface, version schema.GroupVersion, kind, namespace string) objects[T] {
	of := version.WithKind(kind)
	name, _ := meta.UnsafeGuessKindToResource(of)
	return objects[T]{client.Resource(name).Namespace(namespace), of}
}

// typed is an object that the API server has sent.
func typed[T any](sent *unstructured.Unstructured, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(sent.Object, into); err != nil {
		return nil, fmt.Errorf("reading the %s %s that the API server sent: %w", sent.GetKind(), sent.GetName(), err)
	}
	return into, nil
}

func (o objects[T]) untyped(object *T) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("writing the %s: %w", o.kind.Kind, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(o.kind)
	return u, nil
}

func (o objects[T]) get(ctx context.Context, name string) (*T, error) {
	return typed[T](o.client.Get(ctx, name, metav1.GetOptions{}))
}

func (o objects[T]) list(ctx context.Context, options metav1.ListOptions) ([]T, error) {
	sent, err := o.client.List(ctx, options)
	if err != nil {
		return nil, err
	}
	list := make([]T, 0, len(sent.Items))
	for _, item := range sent.Items {
		one, err := typed[T](&item, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, *one)
	}
	return list, nil
}

func (o objects[T]) create(ctx context.Context, object *T, options metav1.CreateOptions) (*T, error) {
	u, err := o.untyped(object)
	if err != nil {
		return nil, err
	}
	return typed[T](o.client.Create(ctx, u, options))
}

func (o objects[T]) update(ctx context.Context, object *T) (*T, error) {
	u, err := o.untyped(object)
	if err != nil {
		return nil, err
	}
	return typed[T](o.client.Update(ctx, u, metav1.UpdateOptions{}))
}

func (o objects[T]) delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return o.client.Delete(ctx, name, options)
}
