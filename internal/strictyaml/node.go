package strictyaml

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Node is a value in a document, with its place. The zero Node is "not there".
type Node struct {
	file     string
	node     ast.Node
	key      ast.Node // the key that it is the value of; nil for others
	anchors  map[string]ast.Node
	problems *Problems
}

// Pair is one entry of a mapping.
type Pair struct {
	Key   string
	Value Node
}

// Parse reads one YAML document. What is wrong with its form is the error; what
// is wrong with its content is added to problems while it is decoded.
func Parse(file string, data []byte, problems *Problems) (Node, error) {
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		p := Problem{File: file, Message: err.Error()}
		if y := yaml.Error(nil); errors.As(err, &y) && y.GetToken() != nil {
			p = Problem{file, y.GetToken().Position.Line, y.GetToken().Position.Column, y.GetMessage()}
		}
		return Node{}, Problems{p}
	}
	root := Node{file: file, anchors: map[string]ast.Node{}, problems: problems}
	for _, doc := range parsed.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root.node != nil:
			return Node{}, Problems{{File: file, Line: doc.Body.GetToken().Position.Line, Column: 1,
				Message: "a second document; write one a file"}}
		default:
			root.node = doc.Body
		}
	}
	if root.node == nil {
		return Node{}, Problems{{File: file, Line: 1, Column: 1, Message: "the file is empty"}}
	}
	ast.Walk(anchorCollector(root.anchors), root.node)
	return root, nil
}

type anchorCollector map[string]ast.Node

func (c anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok && a.Name != nil {
		c[a.Name.GetToken().Value] = a.Value
	}
	return c
}

// Exists says whether there is something.
func (n Node) Exists() bool { return n.node != nil }

// Problemf notes a mistake at this value.
func (n Node) Problemf(format string, args ...any) {
	line, column := n.position()
	*n.problems = append(*n.problems, Problem{n.file, line, column, fmt.Sprintf(format, args...)})
}

// ProblemAtKey notes a mistake in the key of this value.
func (n Node) ProblemAtKey(format string, args ...any) {
	if n.key != nil {
		n.node = n.key
	}
	n.Problemf(format, args...)
}

func (n Node) position() (line, column int) {
	node := n.node
	// A block mapping's own token is the first colon; people look at its first key.
	for i := 0; i < 8 && node != nil; i++ {
		switch m := node.(type) {
		case *ast.MappingNode:
			if m.IsFlowStyle || len(m.Values) == 0 {
				return place(node)
			}
			node = m.Values[0].Key
		case *ast.MappingValueNode:
			node = m.Key
		default:
			return place(node)
		}
	}
	return 0, 0
}

func place(n ast.Node) (line, column int) {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0, 0
	}
	return n.GetToken().Position.Line, n.GetToken().Position.Column
}

// value is the node behind anchors, aliases and tags.
func (n Node) value() ast.Node {
	node := n.node
	for range 16 {
		switch v := node.(type) {
		case *ast.AnchorNode:
			node = v.Value
		case *ast.AliasNode:
			name := v.Value.GetToken().Value
			if node = n.anchors[name]; node == nil {
				return nil
			}
		case *ast.TagNode:
			node = v.Value
		default:
			return node
		}
	}
	return nil
}

func (n Node) with(node, key ast.Node) Node {
	n.node, n.key = node, key
	return n
}

// IsMapping says whether this is a mapping.
func (n Node) IsMapping() bool { _, ok := n.value().(ast.MapNode); return ok }

// IsSequence says whether this is a list.
func (n Node) IsSequence() bool { _, ok := n.value().(*ast.SequenceNode); return ok }

// IsNull says whether there is nothing after the key.
func (n Node) IsNull() bool {
	if n.node == nil {
		return true
	}
	v := n.value()
	return v != nil && v.Type() == ast.NullType
}

// Pairs are the entries of a mapping in the order of the document; a key
// written twice is a problem. Nothing after a key counts as an empty mapping.
func (n Node) Pairs() []Pair { return n.pairs(0) }

func (n Node) pairs(depth int) []Pair {
	if n.IsNull() {
		return nil
	}
	var entries []*ast.MappingValueNode
	switch m := n.value().(type) {
	case *ast.MappingNode:
		entries = m.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{m}
	default:
		n.Problemf("expected a mapping (key: value), found %s", n.describe())
		return nil
	}
	var pairs, merged []Pair
	seen := map[string]int{}
	for _, e := range entries {
		if e.Key.IsMergeKey() && depth < 8 {
			merged = append(merged, n.with(e.Value, e.Key).pairs(depth+1)...)
			continue
		}
		key, child := e.Key.GetToken().Value, n.with(e.Value, e.Key)
		if first, twice := seen[key]; twice {
			child.ProblemAtKey("%q is here twice; the first is in line %d", key, first)
			continue
		}
		seen[key], _ = child.with(e.Key, nil).position()
		pairs = append(pairs, Pair{key, child})
	}
	for _, p := range merged {
		if _, own := seen[p.Key]; !own {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// Items are the values of a list.
func (n Node) Items() []Node {
	if n.IsNull() {
		return nil
	}
	s, ok := n.value().(*ast.SequenceNode)
	if !ok {
		n.Problemf("expected a list, found %s", n.describe())
		return nil
	}
	items := make([]Node, len(s.Values))
	for i, v := range s.Values {
		items[i] = n.with(v, nil)
	}
	return items
}

// At goes down by keys (string) and positions (int). Where the way ends early
// the last value on it is returned, so that a problem always has a place.
func (n Node) At(path ...any) Node {
	found, _ := n.find(path)
	return found
}

// Get is At, and whether the whole way is there.
func (n Node) Get(path ...any) (Node, bool) { return n.find(path) }

func (n Node) find(path []any) (Node, bool) {
	quiet := n
	quiet.problems = &Problems{} // what is wrong with the form was noted by Decode
	for _, step := range path {
		next := Node{}
		switch s := step.(type) {
		case string:
			if quiet.IsMapping() {
				for _, p := range quiet.Pairs() {
					if p.Key == s {
						next = p.Value
					}
				}
			}
		case int:
			if items := quiet.itemsIfAny(); s < len(items) {
				next = items[s]
			}
		}
		if next.node == nil {
			quiet.problems = n.problems
			return quiet, false
		}
		quiet = next
	}
	quiet.problems = n.problems
	return quiet, true
}

func (n Node) itemsIfAny() []Node {
	if !n.IsSequence() {
		return nil
	}
	return n.Items()
}

// Scalar is the text of a plain value as it was written.
func (n Node) Scalar() (string, bool) {
	switch v := n.value().(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return v.GetToken().Value, true
	}
	return "", false
}

func (n Node) describe() string {
	if text, ok := n.Scalar(); ok {
		return fmt.Sprintf("%q", text)
	}
	switch v := n.value(); {
	case v == nil:
		return "an alias of an anchor that is not there"
	case n.IsMapping():
		return "a mapping"
	case n.IsSequence():
		return "a list"
	case n.IsNull():
		return "nothing"
	default:
		return v.Type().String()
	}
}
