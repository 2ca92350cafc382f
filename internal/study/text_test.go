package study

import (
	"slices"
	"testing"
)

func TestATextHasACommentBesideItsLineOrAboveIt(t *testing.T) {
	var text Text
	text.Note("Made by %s, and a note that is longer than a line of eighty columns is wrapped before them.", "x\ny")
	text.Add("study: a", "the title")
	text.Add("image: {reference: \"docker-daemon:registry.example/team/app:1.4\"}", "what runs in all of them")
	text.Add("environments:", "")
	text.Environments([]DraftEnvironment{{Name: "docker", Kind: "docker"}, {Name: "vm", Kind: "qemu", Options: []Setting{{"memory", "1 GiB"}}}}, map[string]string{"qemu": "a guest"})
	text.Ask("  port: TODO", "of the server")
	text.Off("  path: /", "the page")
	const want = `# Made by x\u000ay, and a note that is longer than a line of eighty columns is
# wrapped before them.
study: a                          # the title
# what runs in all of them
image: {reference: "docker-daemon:registry.example/team/app:1.4"}
environments:
  docker: {}
  vm: {kind: qemu, memory: "1 GiB"} # a guest
  port: TODO                      # TODO: of the server
  # path: /                       # the page
`
	if got := string(text.Bytes()); got != want {
		t.Errorf("got:\n%s", got)
	}
	if todos := text.Todos(); !slices.Equal(todos, []int{9}) {
		t.Error(todos)
	}
}
