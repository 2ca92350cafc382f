package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"tare/internal/base/quantity"
)

// Node is a value in a document, with its position. The zero Node does not exist.
type Node struct {
	file     string
	origins  map[ast.Node]string // in place of file, of a composed document
	node     ast.Node
	key      ast.Node // the key that it is the value of; nil for others
	anchors  map[string]ast.Node
	problems *Problems
	steps    *int // of decoding the document so far
	dotted   bool // a.b: c stands for a: {b: c}
}

// Pair is one entry of a mapping.
type Pair struct {
	Key   string
	Value Node
}

// Parse reads one YAML document. The error is about its syntax; problems with its
// content are added to problems while it is decoded.
func Parse(file string, data []byte, problems *Problems) (Node, error) {
	if quantity.Bytes(len(data)) > MaxSize {
		return Node{}, Problems{{File: file, Message: fmt.Sprintf("the file has %s, and at most %s can be read", quantity.Bytes(len(data)), quantity.Bytes(MaxSize))}}
	}
	if !utf8.Valid(data) {
		read := data[:len(data)-len(bytes.TrimLeftFunc(data, func(r rune) bool { return r != utf8.RuneError }))]
		return Node{}, Problems{{File: file, Line: 1 + bytes.Count(read, []byte("\n")), Column: len(read) - bytes.LastIndexByte(read, '\n'), Message: "the file is not text in UTF-8"}}
	}
	tokens := lexer.Tokenize(string(data))
	if err := checkSize(file, tokens); err != nil {
		return Node{}, err
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		p := Problem{File: file, Message: err.Error()}
		if y := yaml.Error(nil); errors.As(err, &y) && y.GetToken() != nil {
			p = Problem{File: file, Line: y.GetToken().Position.Line, Column: y.GetToken().Position.Column, Message: syntax(y.GetMessage())}
		}
		return Node{}, Problems{p}
	}
	root := Node{file: file, anchors: map[string]ast.Node{}, problems: problems, steps: new(int)}
	for _, doc := range parsed.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root.node != nil:
			return Node{}, Problems{{File: file, Line: doc.Body.GetToken().Position.Line, Column: 1,
				Message: "a second document: a file must have only one"}}
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

// syntax is a message of the YAML library in the words of this program.
func syntax(message string) string {
	var key string
	var line, column int
	if n, _ := fmt.Sscanf(message, "mapping key %q already defined at [%d:%d]", &key, &line, &column); n == 3 {
		return fmt.Sprintf("the key %s is already in line %d", Quoted(key), line)
	}
	return "this is not YAML: " + message
}

type anchorCollector map[string]ast.Node

func (c anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok && a.Name != nil {
		c[a.Name.GetToken().Value] = a.Value
	}
	return c
}

// Exists reports whether the node is in the document.
func (n Node) Exists() bool { return n.node != nil }

// Problemf adds a problem at this value.
func (n Node) Problemf(format string, args ...any) {
	line, column := n.position()
	*n.problems = append(*n.problems, Problem{File: n.file, Line: line, Column: column, Message: fmt.Sprintf(format, args...)})
}

// mistypedf adds a problem with the type of this value, in place of others with it.
func (n Node) mistypedf(format string, args ...any) {
	n.Problemf(format, args...)
	(*n.problems)[len(*n.problems)-1].mistyped = true
}

// ProblemAtKey adds a problem at the key of this value.
func (n Node) ProblemAtKey(format string, args ...any) {
	if n.key != nil {
		n.node = n.key
	}
	n.Problemf(format, args...)
}

func (n Node) position() (line, column int) {
	node := n.node
	// The token of a block mapping is its first colon; its first key is more useful.
	for i := 0; i < 8 && node != nil; i++ {
		switch m := node.(type) {
		case *ast.MappingNode:
			if m.IsFlowStyle || len(m.Values) == 0 {
				return tokenPosition(node)
			}
			node = m.Values[0].Key
		case *ast.MappingValueNode:
			node = m.Key
		default:
			return tokenPosition(node)
		}
	}
	return 0, 0
}

func tokenPosition(n ast.Node) (line, column int) {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0, 0
	}
	return n.GetToken().Position.Line, n.GetToken().Position.Column
}

// Dotted is a node in which a.b: c stands for a: {b: c}, as options are written elsewhere.
func (n Node) Dotted() Node {
	n.dotted = true
	return n
}

// nested is the value of a key a.b as a mapping of b, if a is a mapping that does not have b.
func (n Node) nested(key string, all []Pair) (first string, inner Node, is bool) {
	first, rest, is := strings.Cut(key, ".")
	if !is || !n.dotted || first == "" || rest == "" {
		return "", n, false
	}
	for _, other := range all {
		if _, twice := other.Value.Get(rest); other.Key == first && other.Value.IsMapping() && twice {
			n.ProblemAtKey("%s is set twice", Quoted(key))
		}
	}
	at := *n.key.GetToken()
	at.Value = rest
	m := ast.Mapping(word("{"), false)
	m.Values = append(m.Values, ast.MappingValue(word(":"), ast.String(&at), n.node))
	if origin, composed := n.origins[n.key]; composed {
		n.origins[m.Values[0].Key] = origin
	}
	n.node = m
	return first, n, true
}

// value resolves anchors, aliases and tags.
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
	if origin, ok := n.origins[node]; ok {
		n.file = origin
	}
	return n
}

// IsMapping reports whether this is a mapping.
func (n Node) IsMapping() bool { _, ok := n.value().(ast.MapNode); return ok }

// IsSequence reports whether this is a list.
func (n Node) IsSequence() bool { _, ok := n.value().(*ast.SequenceNode); return ok }

// IsNull reports whether the key has no value.
func (n Node) IsNull() bool {
	if n.node == nil {
		return true
	}
	v := n.value()
	return v != nil && v.Type() == ast.NullType
}

// Pairs returns the entries of a mapping in the order of the document; a duplicate
// key is a problem. A key without a value counts as an empty mapping.
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
		n.mistypedf("expected a mapping (key: value), found %s", n.describe())
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
			text := Quoted(key) + " is set twice"
			if first > 0 {
				text += fmt.Sprintf("; the first is in line %d", first)
			}
			child.ProblemAtKey("%s", text)
			continue
		}
		if strings.ContainsRune(key, 0) {
			child.ProblemAtKey("a key has a NUL character")
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

// Items returns the values of a list.
func (n Node) Items() []Node {
	if n.IsNull() {
		return nil
	}
	s, ok := n.value().(*ast.SequenceNode)
	if !ok {
		n.mistypedf("expected a list, found %s", n.describe())
		return nil
	}
	items := make([]Node, len(s.Values))
	for i, v := range s.Values {
		items[i] = n.with(v, nil)
	}
	return items
}

// At follows a path of keys (string) and indexes (int). If the path does not exist,
// it returns the last node on it that does, so that a problem has a position.
func (n Node) At(path ...any) Node {
	found, _ := n.Get(path...)
	return found
}

// Get is At, and reports whether the path exists.
func (n Node) Get(path ...any) (Node, bool) {
	quiet := n
	quiet.problems = &Problems{} // Decode reports problems of form
	exists := true
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
			if quiet.IsSequence() {
				if items := quiet.Items(); s < len(items) {
					next = items[s]
				}
			}
		}
		if exists = next.node != nil; !exists {
			break
		}
		quiet = next
	}
	quiet.problems = n.problems
	return quiet, exists
}

// Scalar returns the text of a plain value as it was written.
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
		return Quoted(text)
	}
	switch v := n.value(); {
	case v == nil:
		return "an alias of an unknown anchor"
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
