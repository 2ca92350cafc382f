// Package objects reads the files of Kubernetes manifests as objects, with their places in
// the files. It knows no kind besides List and Secret.
//
// It must not know what an application is.
package objects

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
)

// Bounds of one file. Helm's output of a large application has some thousand lines.
const (
	Limit       = quantity.MiB
	mostObjects = 1000
	mostDepth   = 64
	mostValues  = 200_000 // aliases count each time
)

// Object is one object of a file.
type Object struct {
	File       string // as it was named
	APIVersion string
	Kind       string
	Namespace  string // "" is not said
	Name       string
	Node       *yaml.Node // its mapping
	JSON       []byte
}

// Read reads a file; name is what errors call it. Lists are taken apart.
func Read(path, name string) ([]Object, error) {
	content, err := bounded.ReadFile(path, Limit)
	if err != nil {
		return nil, problem(name, nil, "%s", bounded.Cause(err).Error())
	}
	return Parse(content, name)
}

// template is a value, or a line, that a template leaves open.
var template = regexp.MustCompile(`(?m)^[ -]*([A-Za-z0-9_./"-]+: *)?\{\{`)

// Parse is Read of a file's content.
func Parse(content []byte, name string) (all []Object, err error) {
	defer func() {
		// The library panics on some texts that are no YAML.
		if p := recover(); p != nil {
			all, err = nil, problem(name, nil, "%s", fmt.Sprintf("this is not YAML: %v", p))
		}
		if at := template.FindIndex(content); err != nil && at != nil {
			line := 1 + bytes.Count(content[:at[1]], []byte("\n"))
			all, err = nil, problem(name, &yaml.Node{Line: line, Column: at[1] - bytes.LastIndexByte(content[:at[1]], '\n') - 2}, "{{...}} is a template: render it, with helm template")
		}
	}()
	r := reader{file: name}
	for documents := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var document yaml.Node
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return r.all, nil
		}
		if err != nil {
			return nil, problem(name, nil, "%s", "this is not YAML: "+plain(err))
		}
		for _, node := range document.Content {
			if err := r.add(node, 0); err != nil {
				return nil, err
			}
		}
	}
}

type reader struct {
	file   string
	all    []Object
	values int
}

// plain is an error of the library in one line.
func plain(err error) string {
	return strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
}

func (r *reader) problem(node *yaml.Node, format string, values ...any) error {
	return problem(r.file, node, format, values...)
}

// problem is an error at a value, or of the file where there is none.
func problem(file string, node *yaml.Node, format string, values ...any) error {
	p := strictyaml.Problem{File: file, Message: fmt.Sprintf(format, values...)}
	if node != nil {
		p.Line, p.Column = node.Line, node.Column
	}
	return strictyaml.Problems{p}
}

// add adds the objects of a document, or of an item of a list.
func (r *reader) add(node *yaml.Node, depth int) error {
	if err := r.check(node, 0); err != nil {
		return err
	}
	node = Resolved(node)
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil // Helm leaves empty documents
	}
	var value map[string]any
	if node.Kind != yaml.MappingNode {
		return r.problem(node, "expected an object of Kubernetes, a mapping with apiVersion and kind")
	}
	if err := node.Decode(&value); err != nil {
		return r.problem(node, "%s", plain(err))
	}
	content, err := json.Marshal(value)
	if err != nil {
		return r.problem(node, "it is not a Kubernetes object: a key is not text, or JSON has no such number")
	}
	o := Object{File: r.file, Node: node, JSON: content}
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	if err := json.Unmarshal(content, &head); err != nil || head.Kind == "" || head.APIVersion == "" {
		return r.problem(node, "it has no apiVersion and kind, or no text there: every object of Kubernetes has them")
	}
	o.APIVersion, o.Kind, o.Namespace, o.Name = head.APIVersion, head.Kind, head.Metadata.Namespace, head.Metadata.Name
	if items := Find(node, "items"); strings.HasSuffix(o.Kind, "List") && items != nil && items.Kind == yaml.SequenceNode {
		if depth > 0 {
			return r.problem(node, "a list in a list is not read")
		}
		for _, item := range items.Content {
			if err := r.add(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if o.Name == "" {
		return r.problem(node, "%s: metadata.name is missing", o.Kind)
	}
	if r.all = append(r.all, o); len(r.all) > mostObjects {
		return r.problem(node, "the file has more than %d objects", mostObjects)
	}
	return nil
}

// check bounds the depth of a value and what its aliases repeat.
func (r *reader) check(node *yaml.Node, depth int) error {
	if r.values++; r.values > mostValues {
		return r.problem(node, "the file has more than %d values: do aliases repeat them?", mostValues)
	}
	if depth > mostDepth {
		return r.problem(node, "values are nested more than %d deep", mostDepth)
	}
	if node.Kind == yaml.AliasNode {
		return r.check(node.Alias, depth+1)
	}
	for _, inside := range node.Content {
		if err := r.check(inside, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Resolved is what an alias stands for.
func Resolved(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// Find is the value at a path of keys (string) and indexes (int); nil where there is none.
func Find(node *yaml.Node, path ...any) *yaml.Node {
	for _, step := range path {
		node = Resolved(node)
		var next *yaml.Node
		switch step := step.(type) {
		case string:
			for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == step {
					next = node.Content[i+1]
				}
			}
		case int:
			if node.Kind == yaml.SequenceNode && step < len(node.Content) {
				next = node.Content[step]
			}
		}
		if next == nil {
			return nil
		}
		node = next
	}
	return Resolved(node)
}

// SecretKey names a value of a Secret in a file.
func SecretKey(namespace, name, key string) string { return namespace + "/" + name + "/" + key }

// SecretValue reads the value that SecretKey names.
func SecretValue(path, key string) ([]byte, error) {
	all, err := Read(path, path)
	if err != nil {
		return nil, err
	}
	namespace, rest, _ := strings.Cut(key, "/")
	name, key, _ := strings.Cut(rest, "/")
	for _, o := range all {
		if o.Kind == "Secret" && o.Namespace == namespace && o.Name == name {
			values, err := o.SecretValues()
			if value, has := values[key]; has || err != nil {
				return value, err
			}
		}
	}
	return nil, fmt.Errorf("%s has no Secret %s with the key %s any more", path, name, key)
}

// SecretValues are the values of a Secret.
func (o Object) SecretValues() (map[string][]byte, error) {
	var secret struct {
		Data       map[string]string
		StringData map[string]string
	}
	if err := json.Unmarshal(o.JSON, &secret); err != nil {
		return nil, fmt.Errorf("Secret %s: its values are not text", o.Name)
	}
	values := map[string][]byte{}
	for key, text := range secret.Data {
		value, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return nil, fmt.Errorf("Secret %s: the value of %s is not base64: plain values go below stringData:", o.Name, key)
		}
		values[key] = value
	}
	for key, text := range secret.StringData {
		values[key] = []byte(text)
	}
	return values, nil
}
