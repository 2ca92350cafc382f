package remote_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/environment"
	_ "tare/internal/environment/docker"
	"tare/internal/environment/remote"
	"tare/internal/testing/sshhost"
	"tare/internal/testing/testenv"
)

// scripted is a double of a host: it gives set answers.
type scripted struct {
	survey string // what the survey of the host comes to
	says   string // what the program there says
	moans  string // and complains of
	put    bool
}

func (s *scripted) Name() string    { return "me@there" }
func (s *scripted) Address() string { return "192.0.2.1" }
func (s *scripted) Close() error    { return nil }

func (s *scripted) Run(context.Context, ...string) ([]byte, error) {
	if s.put {
		return []byte("-\n"), nil // instead of the checksum of what was copied
	}
	return []byte(s.survey), nil
}

func (s *scripted) Put(_ context.Context, _ string, _ fs.FileMode, content io.Reader) error {
	s.put = true
	n, err := io.Copy(io.Discard, content)
	if err == nil && n == 0 {
		err = errors.New("nothing came")
	}
	return err
}

func (s *scripted) Open(_ context.Context, complaints io.Writer, _ ...string) (io.ReadWriteCloser, error) {
	io.WriteString(complaints, s.moans)
	return struct {
		io.Reader
		io.Writer
		io.Closer
	}{strings.NewReader(s.says), io.Discard, io.NopCloser(nil)}, nil
}

func TestAHostThatCannotServeIsReportedWithTheReason(t *testing.T) {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if machine == "" {
		t.Skip("needs amd64 or arm64")
	}
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(own)
	there := fmt.Sprintln(len(own))
	fits := "Linux " + machine + "\n0\n/var/lib/tare/programs/tare-x\n-\n" + there
	for what, c := range map[string]struct {
		host scripted
		want string
	}{
		"another architecture": {scripted{survey: "Linux mips\n0\n/x\n-\n-\n"}, "me@there is Linux mips and this tare is built for Linux " + machine},
		"another system":       {scripted{survey: "FreeBSD amd64\n0\n/x\n-\n-\n"}, "me@there is FreeBSD amd64"},
		"no root":              {scripted{survey: "Linux " + machine + "\n1000\n/x\n-\n-\n"}, "user 1000 on me@there is not root"},
		"no shell":             {scripted{survey: "This account is not available.\n"}, "the output of its login scripts is in the way"},
		"another version":      {scripted{survey: fits, says: "tare-host 99 {}\n"}, "uses protocol 99 and this one 1"},
		"something else":       {scripted{survey: fits, says: "Welcome!\n"}, `answered: "Welcome!"`},
		"an end at once":       {scripted{survey: fits, moans: "it is broken"}, "it is broken"},
		"no rights":            {scripted{survey: fits, moans: "sh: tare: Permission denied"}, "noexec"},
	} {
		_, err := remote.Dial(t.Context(), &c.host, remote.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "me@there") {
			t.Errorf("%s: %v", what, err)
		}
		if c.host.put {
			t.Errorf("%s: tare was copied all the same", what)
		}
	}
	missing := scripted{survey: "Last login: today\n" + strings.Replace(fits, there, "-\n", 1), says: "tare-host 99 {}\n"}
	if _, err := remote.Dial(t.Context(), &missing, remote.Options{}); err == nil || !missing.put || !strings.Contains(err.Error(), "has the SHA-256 - and not "+hex.EncodeToString(sum[:])) {
		t.Errorf("where it is missing it is not copied and compared (%v)", err)
	}
}

func TestAnEngineOfAnotherMachineRunsContainers(t *testing.T) {
	registration, _ := environment.Lookup("docker")
	testenv.NeedsKind(t, "docker", registration.Options())
	s, home := dial(t, sshhost.New(t).Machine(t).Dial(t))
	options, err := json.Marshal(registration.Options())
	if err != nil {
		t.Fatal(err)
	}
	if state, findings := s.Check(t.Context(), "docker", options); state == environment.Missing {
		t.Fatalf("%+v", findings)
	}
	e, err := s.Environment(t.Context(), "docker", options)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(t.Context(), tiny(t), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	i, err := e.Start(t.Context(), here(t, "contained"))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	id := testenv.OnlyOwner(t, home)
	var out bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"sh", "-c", "echo $$; hostname"}, Stdout: &out})
	if err != nil || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
	t.Log(i.Address(), i.Phases(), i.Paths(), e.Versions(t.Context()), out.String())
	// Nobody stops it: the end of the session does.
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, home, id)
}
