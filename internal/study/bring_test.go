package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPlanHasWhatInstancesGetFromThisMachine(t *testing.T) {
	directory, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "text"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	const rest = "\nenvironments: {native: {}, docker: {}, vm: {kind: qemu}}\nworkloads: [{use: redis}]"
	at := func(text string) string { return "study: x\n" + strings.ReplaceAll(text, "DIR", directory) }
	p, err := resolveText(t, at("mounts: [DIR:/work:ro, DIR/text:/etc/text]\ninputs: [DIR/text, 'DIR/text:/opt/text']\n"+rest), Overrides{Only: []string{"native", "docker"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Mounts) != 2 || p.Mounts[0].From != directory || p.Mounts[0].To != "/work" || !p.Mounts[0].ReadOnly || p.Mounts[1].ReadOnly {
		t.Errorf("%+v", p.Mounts)
	}
	if len(p.Inputs) != 2 || p.Inputs[0].To != DefaultInput || p.Inputs[1].To != "/opt/text" || !strings.HasPrefix(p.Inputs[0].SHA256, "ba7816bf8f01cfea") {
		t.Errorf("%+v", p.Inputs)
	}
	for text, want := range map[string]string{
		"mounts: [DIR:/work]":              "mounts: its instances have disks of their own",
		"mounts: DIR:/work":                "expected a list",
		"mounts: [DIR]":                    "is not HOST:INSIDE",
		"mounts: [DIR:/work, DIR:/work/x]": "/work and /work/x are in each other's way inside",
		"mounts: [DIR:/work]\ninputs: ['DIR/text:/work/text']": "/work and /work/text are in each other's way inside",
		"inputs: [DIR/text, DIR/text]":                         "/data/input and /data/input are in each other's way",
		"inputs: [DIR/missing]":                                "missing: no such file or directory",
		"inputs: [DIR]":                                        "is a directory",
		"inputs: ['DIR/text:/usr/x']":                          "nothing can be added to /usr",
		"inputs: ['DIR/text:/data/../x']":                      "is not the path of something inside",
		"inputs: ['DIR/text:/data/a:b']":                       "is not FILE or FILE:INSIDE",
		"mounts: [DIR:/work]\nbaseline: host":                  `baseline: unknown environment "host"`,
	} {
		_, err := resolveText(t, at(text+rest), Overrides{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	const refused = "mounts: not with network: none"
	if _, err := resolveText(t, at("mounts: [DIR:/work]\nenvironments: {native: {network: none}}\nworkloads: [{use: redis}]"), Overrides{}); err == nil || !strings.Contains(err.Error(), refused) {
		t.Error(err)
	}
}
