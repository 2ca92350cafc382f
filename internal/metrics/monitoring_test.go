package metrics_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tare/internal/testing/prometheustest"
)

const monitoring = repository + "/monitoring"

// compose is the part of the Compose file that these tests look at.
type compose struct {
	Services map[string]struct {
		Image       string
		NetworkMode string `yaml:"network_mode"`
		Command     []string
		Environment map[string]string
		Volumes     []string
	}
	Volumes map[string]any
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(monitoring, file))
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// The schema is that of the Compose specification, as compose-go v2.16.2 has it
// (Apache-2.0).
func TestTheComposeFileIsOneByTheSpecification(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/compose-spec.json")
	if err != nil {
		t.Fatal(err)
	}
	var document any
	readYAML(t, "compose.yaml", &document)
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
}

func TestWhatTheComposeFileMountsIsThereAndItsImagesArePinned(t *testing.T) {
	var c compose
	readYAML(t, "compose.yaml", &c)
	for name, s := range c.Services {
		if _, tag, _ := strings.Cut(s.Image, ":"); strings.Count(tag, ".") != 2 {
			t.Errorf("%s: the image %s names no version", name, s.Image)
		}
		if s.NetworkMode != "host" {
			t.Errorf("%s is not on the host's network, where tare listens", name)
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, named := c.Volumes[from]; named {
				continue
			}
			if _, err := os.Stat(filepath.Join(monitoring, from)); err != nil {
				t.Errorf("%s mounts %s: %v", name, from, err)
			}
		}
	}
	listens := c.Services["grafana"].Environment["GF_SERVER_HTTP_ADDR"]
	if !slices.Contains(c.Services["prometheus"].Command, "--web.listen-address=127.0.0.1:9090") || listens != "127.0.0.1" {
		t.Error("others reach Prometheus or Grafana")
	}
}

func TestGrafanaFindsPrometheusAndTheDashboards(t *testing.T) {
	var c compose
	readYAML(t, "compose.yaml", &c)
	mounted := func(at string) string { // what lies there in Grafana's container
		for _, v := range c.Services["grafana"].Volumes {
			if part := strings.Split(v, ":"); part[1] == at {
				return part[0]
			}
		}
		t.Fatalf("Grafana has nothing at %s", at)
		return ""
	}
	var sources struct {
		Datasources []struct{ Type, URL string }
	}
	readYAML(t, filepath.Join(mounted("/etc/grafana/provisioning/datasources"), "tare.yaml"), &sources)
	if len(sources.Datasources) != 1 || sources.Datasources[0].Type != "prometheus" || sources.Datasources[0].URL != "http://127.0.0.1:9090" {
		t.Errorf("the data sources are %v", sources)
	}
	var providers struct {
		Providers []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	readYAML(t, filepath.Join(mounted("/etc/grafana/provisioning/dashboards"), "tare.yaml"), &providers)
	if len(providers.Providers) != 1 || mounted(providers.Providers[0].Options.Path) != "./dashboards" {
		t.Errorf("the providers are %v", providers)
	}
	home := c.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if _, made := dashboards(t)[path.Base(home)]; !made || mounted(path.Dir(home)) != "./dashboards" {
		t.Errorf("the first page is %s, which is not there", home)
	}
}

func TestGrafanaIsTheVersionWhoseTypesTheDashboardsAreHeldTo(t *testing.T) {
	var c compose
	readYAML(t, "compose.yaml", &c)
	var packages struct {
		DevDependencies map[string]string `json:"devDependencies"`
	}
	text, err := os.ReadFile(filepath.Join(repository, "web", "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &packages)
	}
	if err != nil {
		t.Fatal(err)
	}
	if have, want := c.Services["grafana"].Image, "grafana/grafana:"+packages.DevDependencies["@grafana/schema"]+"@"; !strings.HasPrefix(have, want) {
		t.Errorf("the image is %s, and the types are of %s", have, want)
	}
}

func TestPrometheusAcceptsItsConfiguration(t *testing.T) {
	prometheustest.Needs(t)
	if output := prometheustest.Promtool(t, "", "check", "config", filepath.Join(monitoring, "prometheus.yml")); !strings.Contains(output, "SUCCESS") {
		t.Error(output)
	}
}
