package run

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/image"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/freeport"
	"tare/internal/workload"
)

// writeImage writes an image that says how it is started.
func writeImage(t *testing.T, path string, config v1.Config) {
	t.Helper()
	img, err := random.Image(64, 1)
	if err == nil {
		img, err = mutate.Config(img, config)
	}
	if err == nil {
		tag, _ := name.NewTag("test:1")
		err = tarball.WriteToFile(path, tag, img)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serves is the variable with the port at which the test program is a server.
const serves = "TARE_TEST_SERVES"

func init() {
	port := os.Getenv(serves)
	if port == "" {
		return
	}
	l, err := net.Listen("tcp", "0.0.0.0:"+port)
	for err == nil {
		var c net.Conn
		if c, err = l.Accept(); err == nil {
			c.Close()
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// planOf resolves a study of an image that is started with a command.
func planOf(t *testing.T, command ...string) *study.Plan {
	t.Helper()
	p := plan(t, "[{use: ./echo.yaml}]", "{blocks: 2, fresh: block, rounds: 1}", two)
	path := strings.TrimPrefix(p.Image.Reference, "tar:")
	writeImage(t, path, v1.Config{Entrypoint: command[:min(1, len(command))], Cmd: command[min(1, len(command)):]})
	err := os.WriteFile(filepath.Join(filepath.Dir(path), "echo.yaml"), []byte(`
workload: echo
stresses: cpu
driver: {entrypoint: true}
parser: {regex: ['rate (?P<rate>\d+)']}
metrics: [{name: rate, unit: op/s, better: higher, primary: true}]
`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	p, err = study.Open(p.Origin, study.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestARunStartsWhatTheImageSays(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: planOf(t, "sh", "-c", "echo rate ${RATE:-7}")})
	for _, trial := range r.Run.Trials {
		if trial.Metrics["rate"] != 7 {
			t.Errorf("%s: %v %s", trial.Environment, trial.Metrics, trial.Reason)
		}
	}
}

func TestAnImageWithoutACommandIsRefusedBeforeAnythingStarts(t *testing.T) {
	starts := bareStarts.Load()
	_, err := Execute(t.Context(), Options{Home: t.TempDir(), Plan: planOf(t)})
	if input := (*InputError)(nil); !errors.As(err, &input) || !strings.Contains(err.Error(), "has neither an entrypoint nor a command") {
		t.Errorf("%v", err)
	}
	if bareStarts.Load() != starts {
		t.Error("an instance was started")
	}
}

func TestADriverOfAnImageOfItsOwnReachesTheServerThatTheImageSays(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(freeport.New(t))
	directory := t.TempDir()
	pack, drivers := filepath.Join(directory, "served.yaml"), filepath.Join(directory, "drivers.tar")
	err = os.WriteFile(pack, []byte(`
workload: served
stresses: network
image: {packages: [curl]}
parameters: {port: {default: 1, min: 1, max: 65535}, size: {default: 1}}
setup:
  - {run: "exit 3 # ${size}", role: server}
  - {run: "echo of the driver", role: driver}
servers: [{run: exit 4, role: server, ready: {exec: [ask, -p, "${port}"]}}]
driver: {run: "echo rate 5 $MARK ${address.server}", role: driver}
parser: {regex: ['rate (?P<rate>\d+)']}
metrics: [{name: rate, unit: op/s, better: higher, primary: true}]
`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	p := plan(t, "[{use: "+pack+", server: image, port: "+port+"}]", "{order: interleaved, blocks: 1, fresh: block}", "{a: {kind: wired}}")
	if got := p.Images[workload.OwnImage].Recipe.Packages; len(got) != 1 || got[0] != "curl" {
		t.Errorf("the driver's image has the packages %v", got)
	}
	writeImage(t, strings.TrimPrefix(p.Image.Reference, "tar:"), v1.Config{Entrypoint: []string{self}, Env: []string{serves + "=" + port, "MARK=server"}})
	writeImage(t, drivers, v1.Config{Env: []string{"PATH=" + os.Getenv("PATH"), "MARK=driver"}})
	p.Images[workload.OwnImage] = image.Source{Reference: "tar:" + drivers} // a recipe's needs root and minutes
	r := execute(t, t.Context(), Options{Plan: p})
	trial := r.Run.Trials[0]
	if trial.Status != rundir.OK || trial.Metrics["rate"] != 5 {
		t.Fatalf("%s: %s", trial.Status, trial.Reason)
	}
	if words := strings.Fields(output(t, r, trial, "driver.stdout")); words[2] != "driver" || !strings.HasPrefix(words[3], "127.4.") {
		t.Errorf("the driver has the variables and the server's address %v", words)
	}
	if m := r.Run.Manifest; m.Images[workload.OwnImage].Digest == "" || m.Images[workload.OwnImage].Digest == m.Image.Digest {
		t.Errorf("images %+v and %+v", m.Image, m.Images)
	}
}
