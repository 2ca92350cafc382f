package recipe

import (
	"errors"
	"path/filepath"
	"strings"
	"tare/internal/image/store"
	"tare/internal/image/tool"
	"tare/internal/testing/imagetest"
	"tare/internal/testing/needs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAFetchIsPinnedAndSaysWhereTo(t *testing.T) {
	for want, f := range map[string]Fetch{
		"has either maven or go":                                 {To: "/opt/x"},
		"either maven or go":                                     {Maven: "g:a:1", Go: "example.org/m@v1.0.0", To: "/opt/x"},
		`fetch g:a:1 to "opt": it must be the absolute path`:     {Maven: "g:a:1", To: "opt"},
		`fetch g:a:1 to "/": it must be the absolute path`:       {Maven: "g:a:1", To: "/"},
		`"g:a": it must be group:artifact:version`:               {Maven: "g:a", To: "/opt"},
		`"g:a:1:jar:bin:x": it must be group:artifact`:           {Maven: "g:a:1:jar:bin:x", To: "/opt"},
		`"g:a:[1,2)": it must be group:artifact`:                 {Maven: "g:a:[1,2)", To: "/opt"},
		`"g:a:LATEST": it must have a fixed version`:             {Maven: "g:a:LATEST", To: "/opt"},
		`"g:a:1-SNAPSHOT": it must have a fixed version`:         {Maven: "g:a:1-SNAPSHOT", To: "/opt"},
		`"example.org/m@latest": it must be module/path@version`: {Go: "example.org/m@latest", To: "/opt"},
		`"example.org/m": it must be module/path@version`:        {Go: "example.org/m", To: "/opt"},
		`"-x@v1.0.0": it must be module/path@version`:            {Go: "-x@v1.0.0", To: "/opt"},
		"dependencies and unpack are for maven alone":            {Go: "example.org/m@v1.0.0", To: "/opt", Unpack: true},
		"dependencies and unpack are for maven alone; ":          {Go: "example.org/m@v1.0.0", To: "/opt", Dependencies: true},
	} {
		if err := (Recipe{Fetch: []Fetch{f}}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, good := range []Fetch{
		{Maven: "org.example:app_2.13:5.0.6", To: "/opt/app", Dependencies: true},
		{Maven: "org.example:app:4.0-alpha2:tar.gz:bin", To: "/opt/app", Unpack: true},
		{Go: "example.org/tool/v12@v12.12.0", To: "/usr/local/bin"},
		{Go: "example.org/tool@v0.0.0-20260905035102-160fafc42237/cmd/x", To: "/usr/local/bin/"},
	} {
		if err := good.validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestComponentsAndFetchedThingsOfSeveralRecipesAreOneImages(t *testing.T) {
	iozone := Recipe{Components: []string{"non-free"}, Fetch: []Fetch{{Maven: "g:a:1", To: "/opt/b"}}}
	other := Recipe{Components: []string{"contrib", "non-free"}, Fetch: []Fetch{
		{Maven: "g:a:1", To: "/opt//b/"}, {Maven: "g:a:2", To: "/opt/a"}, {Maven: "g:a:1:tar.gz", To: "/opt/b"}, {Go: "example.org/m@v1.0.0", To: "/opt/a"}}}
	got, err := Merge(iozone, other)
	if err != nil {
		t.Fatal(err)
	}
	want := Recipe{Components: []string{"contrib", "non-free"}, Fetch: []Fetch{
		{Go: "example.org/m@v1.0.0", To: "/opt/a"}, {Maven: "g:a:2", To: "/opt/a"}, {Maven: "g:a:1", To: "/opt/b"}, {Maven: "g:a:1:tar.gz", To: "/opt/b"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +:\n%s", diff)
	}
	for _, two := range [][2]Fetch{
		{{Maven: "g:a:1", To: "/opt/a"}, {Maven: "g:a:2", To: "/opt/a/"}},
		{{Maven: "g:a:1", To: "/opt/a"}, {Maven: "g:a:1", To: "/opt/a", Unpack: true}},
		{{Go: "example.org/m@v1.0.0", To: "/opt/a"}, {Go: "example.org/m@v1.0.1", To: "/opt/a"}},
	} {
		_, err := Merge(Recipe{Fetch: two[:1]}, Recipe{Fetch: two[1:]})
		if err == nil || !strings.Contains(err.Error(), "in /opt/a with different content") {
			t.Errorf("%v: got %v", two, err)
		}
	}
}

func TestWhatIsFetchedCountsForTheKeys(t *testing.T) {
	keys := map[string]Recipe{}
	for _, r := range []Recipe{
		{}, {Components: []string{"non-free"}},
		{Fetch: []Fetch{{Maven: "g:a:1", To: "/opt"}}},
		{Fetch: []Fetch{{Maven: "g:a:1", To: "/opt/a"}}},
		{Fetch: []Fetch{{Maven: "g:a:1", To: "/opt", Unpack: true}}},
		{Fetch: []Fetch{{Maven: "g:a:1", To: "/opt", Dependencies: true}}},
	} {
		key := r.key("debian", "amd64")
		if other, twice := keys[key]; twice {
			t.Errorf("%+v and %+v have one key", r, other)
		}
		keys[key] = r
	}
	a, b := Fetch{Maven: "g:a:1", To: "/opt"}, Fetch{Maven: "g:a:1", To: "/srv"}
	if a.key("amd64") != b.key("amd64") {
		t.Error("the same thing for another directory is fetched again")
	}
	if a.key("amd64") == a.key("arm64") {
		t.Error("another architecture's thing is taken")
	}
}

func TestMavenIsAskedForOneArtifactAlone(t *testing.T) {
	text := Fetch{Maven: "org.example:app:4.0:tar.gz:bin"}.mavenProject()
	for _, want := range []string{"<groupId>org.example</groupId>", "<artifactId>app</artifactId>", "<version>4.0</version>", "<type>tar.gz</type>",
		"<classifier>bin</classifier>", "<exclusion><groupId>*</groupId>"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if text := (Fetch{Maven: "g:a:1", Dependencies: true}).mavenProject(); strings.Contains(text, "<exclusion>") || strings.Contains(text, "<type>") {
		t.Errorf("with dependencies:\n%s", text)
	}
}

func TestMavensFailureIsExplainedInOneSentence(t *testing.T) {
	for output, want := range map[string]string{
		"[ERROR] Failed to execute goal on project fetch: Could not find artifact g:a:jar:9 in central (x) -> [Help 1]":                        "no artifact g:a:jar:9 in the Maven repositories",
		"[ERROR] Could not transfer artifact g:a:pom:1 from/to central (x): repo.example: Temporary failure in name resolution -> [Help 1]\nx": "cannot be reached or returned an unexpected",
		"Killed": "mvn: exit status 1",
	} {
		err := explainMaven(&tool.Error{Argv: []string{"mvn"}, Cause: errors.New("exit status 1"), Output: output})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\ngot  %v\nwant %s", output, err, want)
		}
	}
}

func TestAMissingClientIsReportedBeforeAnythingIsBuilt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for want, f := range map[string]Fetch{
		"g:a:1 is fetched with mvn: mvn is not installed: apt-get install maven":                  {Maven: "g:a:1", To: "/opt"},
		"example.org/m@v1.0.0 is fetched with go: go is not installed: apt-get install golang-go": {Go: "example.org/m@v1.0.0", To: "/opt"},
	} {
		err := Recipe{Fetch: []Fetch{f}}.needClients()
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// Small things of each sort: an artifact with one dependency, an archive's
// content, and a program within a module.
var (
	withDependency = Fetch{Maven: "org.slf4j:slf4j-simple:2.0.13", To: "/opt/log", Dependencies: true}
	unpacked       = Fetch{Maven: "org.slf4j:slf4j-simple:2.0.13", To: "/opt/classes", Unpack: true}
	program        = Fetch{Go: "github.com/rogpeppe/go-internal@v1.14.1/cmd/txtar-c", To: "/usr/local/bin"}
)

func needsFetch(t *testing.T, fetch ...Fetch) {
	t.Helper()
	needs.Minutes(t, "fetches for real")
	for _, f := range fetch {
		needs.Program(t, f.program())
	}
}

// skipOffline skips where a client's registry is out of reach.
func skipOffline(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, sign := range []string{"cannot be reached", "dial tcp", "no such host"} {
		if strings.Contains(err.Error(), sign) {
			t.Skipf("needs a package registry: %v", err)
		}
	}
}

func TestFetchedBytesAreTheSameEachTime(t *testing.T) {
	for _, c := range []struct {
		fetch Fetch
		want  []string
	}{
		{withDependency, []string{"slf4j-api-2.0.13.jar", "slf4j-simple-2.0.13.jar"}},
		{unpacked, []string{"org/slf4j/simple/SimpleLogger.class"}},
		{program, []string{"txtar-c"}},
	} {
		t.Run(c.fetch.String(), func(t *testing.T) {
			needsFetch(t, c.fetch)
			first, second := filepath.Join(t.TempDir(), "1.tar"), filepath.Join(t.TempDir(), "2.tar")
			for _, file := range []string{first, second} {
				err := c.fetch.fetch(t.Context(), file)
				skipOffline(t, err)
				if err != nil {
					t.Fatal(err)
				}
				if store.Exists(file + ".work") {
					t.Error("work was left behind")
				}
			}
			if store.ReadText(first) != store.ReadText(second) {
				t.Error("two times gave two different tars")
				t.Log(cmp.Diff(imagetest.Tar(t, first), imagetest.Tar(t, second)))
			}
			got := imagetest.Tar(t, first)
			for _, name := range c.want {
				if file, ok := got[name]; !ok || file.UID != 0 || file.Mode.Perm()&0o644 != 0o644 {
					t.Errorf("%s: %+v", name, file)
				}
			}
			if c.fetch.Dependencies && len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAnArtifactThatDoesNotExistIsReportedPlainly(t *testing.T) {
	f := Fetch{Maven: "org.slf4j:slf4j-simple:0.0.1", To: "/opt"}
	needsFetch(t, f)
	err := f.fetch(t.Context(), filepath.Join(t.TempDir(), "x.tar"))
	skipOffline(t, err)
	if err == nil || !strings.Contains(err.Error(), "no artifact org.slf4j:slf4j-simple:jar:0.0.1") {
		t.Errorf("got %v", err)
	}
}
