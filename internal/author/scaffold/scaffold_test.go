package scaffold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/application"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/qemu"
	"tare/internal/image/origin"
	"tare/internal/study"
	"tare/internal/workload"
)

func options() Options {
	return Options{Command: "tare init ...", File: "study.yaml", Environments: []string{"native", "docker", "vm+memory=1GiB"}}
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join("testdata", name)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	for n, line := range strings.Split(string(got), "\n") {
		if len(line) > 80 {
			t.Errorf("line %d has %d columns: %s", n+1, len(line), line)
		}
	}
}

// refusals are the lines at which a study is refused.
func refusals(t *testing.T, s *study.Text) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "study.yaml")
	if err := os.WriteFile(path, s.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := study.Open(path, study.Overrides{})
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), path, "study.yaml")
}

func TestAnImageGivesAStudyOfItsServer(t *testing.T) {
	for name, d := range map[string]*origin.Description{
		"image-http":     {Config: origin.Config{Ports: []string{"53/udp", "8080/tcp", "9100/tcp"}, Health: []string{"CMD-SHELL", "curl -f http://localhost:8080/health"}}},
		"image-redis":    {Config: origin.Config{Ports: []string{"6379/tcp"}}},
		"image-postgres": {Config: origin.Config{Ports: []string{"5432/tcp"}}, Env: []string{"POSTGRES_USER=shop", "POSTGRES_PASSWORD=s3cret"}},
		"image-mysql":    {Config: origin.Config{Ports: []string{"3306/tcp"}}},
		"image-port":     {Config: origin.Config{Ports: []string{"7777/tcp"}}},
		"image-nothing":  {},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Environments = []string{"native", "docker", "gvisor"}
			s, err := o.FromImage("docker-daemon:registry.example/team/my-api:1.4", d, nil)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".yaml", s.Text.Bytes())
			if strings.Contains(string(s.Text.Bytes()), "s3cret") {
				t.Error("a value of a variable is in the study")
			}
			refused := refusals(t, s.Text)
			if (refused != "") != (len(s.Text.Todos()) > 0) {
				t.Errorf("marked: %v; refused: %s", s.Text.Todos(), refused)
			}
		})
	}
}

func TestAnImageThatNobodyDescribesLeavesMarkedLines(t *testing.T) {
	s, err := options().FromImage("docker-daemon:x", nil, errors.New("the engine does not answer"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Text.Todos()) != 2 || len(s.Remarks) != 2 || s.Remarks[0] != "the engine does not answer" {
		t.Error(s.Text.Todos(), s.Remarks)
	}
}

func TestAnImageOfARegistryThatDoesNotAnswerIsLookedForOnThisMachine(t *testing.T) {
	for reference, want := range map[string]string{"x:1": "docker-daemon:NAME or tar:FILE", "oci:x": "`tare try oci:x`"} {
		s, err := options().FromImage(reference, nil, errors.New("nobody answers"))
		if err != nil || !strings.Contains(s.Remarks[1], want) {
			t.Errorf("%s: %v, %v", reference, s.Remarks, err)
		}
	}
}

func TestEnvironmentsThatDoNotWorkHereAreNotInEffect(t *testing.T) {
	o := options()
	o.Environments = nil
	o.Choose(Environments, []string{"native", "gvisor"})
	s, err := o.FromCommand([]string{"no-such-command"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "  gvisor: {}                      # the sandbox gVisor (runsc)\n" +
		"  # docker: {}                    # does not work here now, see tare doctor\n"
	if !strings.Contains(string(s.Text.Bytes()), want) {
		t.Errorf("%s", s.Text.Bytes())
	}
	o.Environments = nil
	o.Choose(Environments, nil)
	if diff := cmp.Diff(Networked, o.Environments); diff != "" {
		t.Error(diff)
	}
	o.Choose(Environments, []string{"native"})
	if diff := cmp.Diff(Networked, o.Environments); diff != "" {
		t.Error("what is named was replaced:", diff)
	}
}

func TestAComposeFileGivesAStudyOfTheServiceThatPublishesAPort(t *testing.T) {
	app := func(services ...application.Service) *application.Application {
		return &application.Application{Name: "shop", Services: services}
	}
	db := application.Service{Name: "db", Image: "postgres:17", Ports: []int{5432}, Published: []int{5432}}
	api := application.Service{
		Name: "api", Image: "shop-api", Built: true, Ports: []int{8080}, Published: []int{8080},
		Health: &application.Health{Test: []string{"curl -f http://localhost:8080/health"}, Shell: true},
	}
	for name, a := range map[string]*application.Application{
		"compose-one":     app(db, api, application.Service{Name: "worker", Image: "x", Asks: []application.Ask{{Key: "privileged"}, {Key: "devices"}}}),
		"compose-several": app(api, application.Service{Name: "admin", Ports: []int{80}, Published: []int{80}}),
		"compose-ending": app(
			application.Service{Name: "migrate", Image: "shop-api"},
			application.Service{Name: "web", Ports: []int{8080, 9090, 9100}, Published: []int{8080, 9090, 9100}, DependsOn: []application.Dependency{{Service: "migrate", Condition: application.Completed}}}),
		"compose-no-ports": app(application.Service{Name: "a"}, application.Service{Name: "b"}, application.Service{Name: "c"}),
		"compose-database": app(application.Service{Name: "db", Ports: []int{5432}, Published: []int{5432}, Env: []string{"POSTGRES_DB=shop", "POSTGRES_PASSWORD=s3cret"}}),
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.File, o.Environments = "testdata/study.yaml", Networked
			s, err := o.FromApplication(a, "testdata/shop/compose.yaml")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".yaml", s.Text.Bytes())
		})
	}
}

func TestACommandGivesAStudyAndItsWorkload(t *testing.T) {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for path, text := range map[string]string{"load.sh": "#!/usr/bin/env no-such-interpreter\n", "numbers.txt": "1\n"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("tree", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, argv := range map[string][]string{
		"command-script":  {"./load.sh", "--input", "numbers.txt", "-n", "5", "/etc/hostname"},
		"command-unknown": {"no-such-command", "a b"},
		"command-shell":   {"sh", "-c", "wc -l <numbers.txt"},
		"command-tree":    {"no-such-command", "numbers.txt", "tree"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := options().FromCommand(argv)
			if err != nil {
				t.Fatal(err)
			}
			text := string(s.Text.Bytes()) + "--- " + s.PackFile + "\n" + string(s.Pack.Bytes())
			golden(t, filepath.Join(testdata, name+".yaml"), []byte(text))
		})
	}
}

func TestAPathThatTheCommandRunsAndNobodyHasIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for command, want := range map[string]string{
		"./tool a":         "./tool, which the command runs: no such file or directory",
		"python3 job.py":   "job.py, which the command runs: no such file or directory",
		"sh -c missing.sh": "", "no-such-command missing": "", "gzip missing": "",
	} {
		got := ""
		if _, err := options().FromCommand(strings.Fields(command)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s", command, got)
		}
	}
}

func TestTwoStudiesOfADirectoryHaveTwoPacks(t *testing.T) {
	o := options()
	for file, want := range map[string]string{"study.yaml": "study-command.yaml", "job/second.yml": "job/second-command.yaml"} {
		o.File = file
		s, err := o.FromCommand([]string{"gzip"})
		if err != nil || s.PackFile != want {
			t.Errorf("%s: %s, %v", file, s.PackFile, err)
		}
	}
}

func TestTheWorkloadOfACommandRunsItAsItIs(t *testing.T) {
	t.Chdir(t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		argv := append([]string{"no-such-command"}, rapid.SliceOf(rapid.OneOf(rapid.StringMatching(`[^\x00]*`),
			rapid.SampledFrom([]string{"", "~", "null", "true", "1e3", "0x1", "${a}", "$${a}", "- a", "a: b", "# c", "'", `"`, "\\", "\n", "\x1b"}))).Draw(t, "argv")...)
		s, err := options().FromCommand(argv)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(s.Pack.Bytes()), "packages: TODO", "packages: [gzip]", 1)
		if err := os.WriteFile("pack.yaml", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		pack, err := workload.Find("./pack.yaml")
		if err != nil {
			t.Fatal(err, text)
		}
		filled, err := pack.With(nil, workload.InstanceVars{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(argv, filled.Driver.Argv); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAnArgumentIsAComposeFileADirectoryOrAnImage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"with", "docker", "empty", "redis", "objects"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"with/docker-compose.yml", "docker/Dockerfile", "api.tar", "own.yml", "job.py", "Dockerfile"} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"objects/web.yaml": "apiVersion: v1\nkind: Service\n", "objects/work.yml": "apiVersion: v1\nkind: Pod\n", "objects/values.yaml": "a: b\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for argument, want := range map[string]string{
		"./with": "with/docker-compose.yml", "with": "with/docker-compose.yml", "own.yml": "own.yml", "missing.yaml": "missing.yaml",
		"redis": "", "docker-daemon:a": "", "registry.example/a": "",
		"./docker":   "./docker has a Dockerfile and no Compose file: build its image, docker build -t NAME ./docker, then `tare init docker-daemon:NAME`",
		"./empty":    "./empty has no Compose file (compose.yaml, compose.yml, docker-compose.yml or docker-compose.yaml) and no manifests",
		"./objects":  "objects/web.yaml objects/work.yml",
		"objects":    "objects/web.yaml objects/work.yml",
		"job.py":     "job.py is a file: for a command write `tare init -- ./job.py`, and for an image of this name job.py:TAG",
		"./job.py":   "./job.py is a file: for a command write `tare init -- ./job.py`, and for an image of this name job.py:TAG",
		"Dockerfile": "Dockerfile is a Dockerfile: build its image, docker build -t NAME -f Dockerfile ., then `tare init docker-daemon:NAME`",
		"api.tar":    "api.tar is a file: if it is an image as docker save writes it, write tar:api.tar",
	} {
		paths, is, err := ComposeFile(argument)
		got := strings.Join(paths, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want || is != (err == nil && want != "") && err == nil {
			t.Errorf("%s: %s, %v", argument, got, is)
		}
	}
	for dir, want := range map[string]string{"with": "`tare init docker-compose.yml`", "docker": "docker build -t NAME", "empty": "after --"} {
		if err := Suggest(dir); !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}
