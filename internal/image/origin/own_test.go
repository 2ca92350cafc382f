package origin

import (
	"archive/tar"
	"io"
	"os"
	"slices"
	"testing"

	"tare/internal/agent/executable"
	_ "tare/internal/agent/program"
	"tare/internal/testing/needs"
)

func TestTheOwnImageIsTheAgentAndNeedsNothing(t *testing.T) {
	agent, err := executable.Contents()
	if err != nil {
		needs.Working(t, "the agent's program", err)
	}
	from, err := Parse(Own)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := from.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := from.Resolve(t.Context()); err != nil || again != digest {
		t.Errorf("its digest is %s and then %s, %v", digest, again, err)
	}
	content, err := Pull(t.Context(), from, digest, t.TempDir(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(content.Layers) != 1 || !slices.Equal(content.Env, []string{"PATH=/bin"}) {
		t.Errorf("%+v", content)
	}
	in, err := os.Open(content.Layers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	links := map[string]string{}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "bin/tare-agent" && (h.Size != int64(len(agent)) || h.Mode != 0o755) {
			t.Errorf("the program has %d bytes, mode %o", h.Size, h.Mode)
		}
		links[h.Name] = h.Linkname
	}
	if links["bin/true"] != "tare-agent" {
		t.Errorf("it has %q", links)
	}
}
