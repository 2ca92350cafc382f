package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/agent"
	"tare/internal/image"
	"tare/internal/image/origin"
)

func TestAServiceIsReadyAsItsFileSaysOrItsImage(t *testing.T) {
	ofImage := origin.Config{Health: []string{"CMD-SHELL", "ping || exit 1"}, Ports: []string{"53/udp", "80/tcp"}}
	tcp := func(port string) agent.Probe { return agent.Probe{TCP: "${address}:" + port, Timeout: time.Minute} }
	exec := func(words ...string) agent.Probe {
		return agent.Probe{Exec: words, Interval: healthInterval, Timeout: time.Minute}
	}
	http := agent.Probe{HTTP: "http://${address}/"}
	for name, c := range map[string]struct {
		health        Health
		own           agent.Probe // of the pack
		image         origin.Config
		command, then agent.Probe
	}{
		"the file's command":           {Health{Exec: []string{"check"}, Port: 5}, agent.Probe{}, ofImage, exec("check"), agent.Probe{}},
		"the image's":                  {Health{Port: 5}, agent.Probe{}, ofImage, exec("/bin/sh", "-c", "ping || exit 1"), agent.Probe{}},
		"the image's words":            {Health{}, agent.Probe{}, origin.Config{Health: []string{"CMD", "ping", "x"}}, exec("ping", "x"), agent.Probe{}},
		"the file switches it off":     {Health{NotImage: true}, agent.Probe{}, ofImage, agent.Probe{}, tcp("80")},
		"the file's port":              {Health{NotImage: true, Port: 5}, agent.Probe{}, ofImage, agent.Probe{}, tcp("5")},
		"nothing":                      {Health{}, agent.Probe{}, origin.Config{}, agent.Probe{}, agent.Probe{}},
		"the pack's probe":             {Health{Port: 5}, http, origin.Config{}, agent.Probe{}, http},
		"a command, and then the pack": {Health{}, http, ofImage, exec("/bin/sh", "-c", "ping || exit 1"), http},
	} {
		c.health.Timeout = time.Minute
		p := Pack{Servers: []Server{{Step: Step{Entrypoint: true, Role: "a"}, Ready: c.own, Health: &c.health}}}
		got := p.Of(func(string) *image.Image { return &image.Image{Config: c.image} }).Servers[0]
		if d := cmp.Diff([]agent.Probe{c.command, c.then}, []agent.Probe{got.Health.Probe(), got.Ready}); d != "" {
			t.Errorf("%s: want - got +:\n%s", name, d)
		}
	}
}
