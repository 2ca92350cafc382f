package bubblewrap

import (
	"context"
	"io"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/linux/procfile"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

func TestTheImagesVariablesAreNotInTheProcessList(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	options := &Options{Network: "host"}
	testenv.NeedsKind(t, "bubblewrap", options)
	img := *testenv.Image(t)
	img.Env = append([]string{"MARK=of the image"}, img.Env...)
	e := &bubblewrap{*options}
	if err := e.Prepare(t.Context(), &img, nil); err != nil {
		t.Fatal(err)
	}
	i, err := e.Start(t.Context(), environment.Request{Name: "a-1", Owner: testenv.Owner(t, t.TempDir()), Image: &img, Console: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if got := testenv.Run(t, i, `echo "$MARK"`); got != "of the image" {
		t.Errorf("a command has the variable %q", got)
	}
	for _, pid := range procfile.PIDs() {
		if line := strings.Join(procfile.CommandLine(pid), " "); strings.Contains(line, "MARK=of the image") {
			t.Errorf("process %d is %q", pid, line)
		}
	}
}
