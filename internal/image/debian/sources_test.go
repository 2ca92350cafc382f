package debian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSourcesAreTheDistributionsOwnInEitherFormat(t *testing.T) {
	debian := Distribution{"debian", "bookworm"}
	ubuntu := Distribution{"ubuntu", "noble"}
	for _, c := range []struct {
		what   string
		distro Distribution
		suite  string
		// components of the recipe
		components []string
		apt        map[string]string // files of /etc/apt
		lists      map[string]string // release files that apt fetched
		want       []string
	}{
		{
			what: "one-line sources, with options and components as they are", distro: debian,
			apt: map[string]string{"sources.list": `
# deb http://old.example/debian bookworm main
deb http://mirror.example/debian bookworm main contrib non-free # all of it
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/security bookworm-security main
deb cdrom:[Debian GNU/Linux 12]/ bookworm main
`},
			want: []string{
				"deb http://mirror.example/debian bookworm main contrib non-free",
				"deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/security bookworm-security main",
			},
		},
		{
			what: "deb822 sources, several of everything", distro: debian,
			apt: map[string]string{"sources.list.d/debian.sources": `
Types: deb deb-src
# where it was built
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates bookworm-backports
Components: main non-free-firmware
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
`},
			want: []string{
				"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian bookworm main non-free-firmware",
				"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian bookworm-updates main non-free-firmware",
			},
		},
		{
			what: "other people's repositories for the same suite are told by their key", distro: ubuntu,
			apt: map[string]string{
				"sources.list.d/ubuntu.sources":          "Types: deb\nURIs: mirror+file:/etc/apt/mirrors.txt\nSuites: noble noble-updates noble-proposed\nComponents: main universe\nSigned-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg\n",
				"sources.list.d/tools.list":              "deb [signed-by=/etc/apt/keyrings/tools.gpg] https://tools.example/ubuntu noble main\n",
				"sources.list.d/engine.list":             "deb https://engine.example/linux/ubuntu noble stable\n",
				"sources.list.d/cloud.list":              "deb https://cloud.example/apt cloud-noble main\n",
				"sources.list.d/disabled.list.save":      "deb http://mirror.example/ubuntu noble main\n",
				"sources.list.d/unrelated.list.dpkg-old": "deb http://mirror.example/ubuntu noble main\n",
			},
			want: []string{
				"deb [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] mirror+file:/etc/apt/mirrors.txt noble main universe",
				"deb [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] mirror+file:/etc/apt/mirrors.txt noble-updates main universe",
			},
		},
		{
			what: "and by what they call themselves, where apt has asked them", distro: debian,
			apt: map[string]string{"sources.list": "deb http://a.example/x_y bookworm main\ndeb http://b.example/debian/ bookworm main\n"},
			lists: map[string]string{
				"a.example_x%5fy_dists_bookworm_InRelease":  "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOrigin: Debian\nSuite: oldstable\n",
				"b.example_debian_dists_bookworm_InRelease": "Origin: Somebody Else\n",
			},
			want: []string{"deb http://a.example/x_y bookworm main"},
		},
		{
			what: "a moving suite is known by its code name", distro: debian,
			apt:   map[string]string{"sources.list": "deb http://a.example/debian stable main\ndeb http://a.example/debian testing main\n"},
			lists: map[string]string{"a.example_debian_dists_stable_InRelease": "Origin: Debian\nCodename: bookworm\n", "a.example_debian_dists_testing_InRelease": "Origin: Debian\nCodename: trixie\n"},
			want:  []string{"deb http://a.example/debian bookworm main"},
		},
		{
			what: "a recipe for another suite asks the same places for that", distro: debian, suite: "trixie",
			apt:  map[string]string{"sources.list": "deb http://a.example/debian bookworm main\ndeb http://a.example/debian-security bookworm-security main\n"},
			want: []string{"deb http://a.example/debian trixie main", "deb http://a.example/debian-security trixie-security main"},
		},
		{
			what: "unstable has no updates beside it", distro: debian, suite: "sid",
			apt:  map[string]string{"sources.list": "deb http://a.example/debian bookworm main\ndeb http://a.example/debian bookworm-updates main\ndeb http://a.example/debian-security bookworm-security main\n"},
			want: []string{"deb http://a.example/debian sid main"},
		},
		{
			what: "a recipe's components stand beside the host's own, and only in the distribution's sources", distro: debian, components: []string{"contrib", "non-free"},
			apt: map[string]string{"sources.list": "deb http://a.example/debian bookworm main contrib\ndeb http://a.example/security bookworm-security main\ndeb [signed-by=/etc/apt/keyrings/x.gpg] http://x.example/ bookworm main\n"},
			want: []string{
				"deb http://a.example/debian bookworm main contrib non-free",
				"deb http://a.example/security bookworm-security main contrib non-free",
			},
		},
		{
			what: "a key inside the file is left to the keys that apt trusts", distro: debian,
			apt:  map[string]string{"sources.list.d/debian.sources": "Types: deb\nURIs: http://a.example/debian\nSuites: bookworm\nComponents: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"},
			want: []string{"deb http://a.example/debian bookworm main"},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			apt, lists := t.TempDir(), t.TempDir()
			for directory, files := range map[string]map[string]string{apt: c.apt, lists: c.lists} {
				for name, text := range files {
					path := filepath.Join(directory, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			suite := c.suite
			if suite == "" {
				suite = c.distro.Suite
			}
			got, err := Sources(apt, lists, c.distro, suite, c.components)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want - got +:\n%s", diff)
			}
		})
	}
}

func TestNoSourceOfTheDistributionIsAnError(t *testing.T) {
	_, err := Sources(t.TempDir(), t.TempDir(), Distribution{"debian", "bookworm"}, "bookworm", nil)
	if err == nil || !strings.Contains(err.Error(), "no package source of debian bookworm") {
		t.Errorf("got %v", err)
	}
}

func TestFetchOptionsAreThoseOfTheWayToTheMirror(t *testing.T) {
	got := keepFetchOptions(`APT::Architecture "amd64";
Acquire::http::Proxy "http://proxy.example:3128";
Acquire::https::Proxy "";
Acquire::Check-Valid-Until "false";
Acquire::GzipIndexes "true";
Acquire::Retries "3";
DPkg::Post-Invoke:: "rm -f /x";
`)
	want := []string{`Acquire::http::Proxy "http://proxy.example:3128";`, `Acquire::Check-Valid-Until "false";`, `Acquire::Retries "3";`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +:\n%s", diff)
	}
}

func TestTheHostsDistribution(t *testing.T) {
	for text, want := range map[string]Distribution{
		"ID=debian\nVERSION_CODENAME=bookworm\n":                                                {"debian", "bookworm"},
		"ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n":                                   {"ubuntu", "noble"},
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=vera\nUBUNTU_CODENAME=jammy": {"ubuntu", "jammy"},
		"ID=debian\nPRETTY_NAME=\"Debian GNU/Linux\"\n":                                         {"debian", ""},
	} {
		if got, err := parseRelease(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	if _, err := parseRelease("ID=fedora\n"); err == nil || !strings.Contains(err.Error(), `"fedora"`) {
		t.Errorf("fedora: got %v", err)
	}
}

// Unstable's os-release has the code name of the next release.
func TestUnstableIsKnownByItsSources(t *testing.T) {
	for sources, want := range map[string]string{
		"deb http://a.example/debian sid main\n":                                           "sid",
		"deb http://a.example/debian unstable main\n":                                      "sid",
		"deb http://a.example/debian forky main\n":                                         "forky",
		"deb http://a.example/debian testing main\ndeb http://a.example/debian sid main\n": "forky",
	} {
		apt := t.TempDir()
		if err := os.WriteFile(filepath.Join(apt, "sources.list"), []byte(sources), 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := parseRelease("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux forky/sid\"\nVERSION_CODENAME=forky\n")
		if err == nil {
			err = d.chooseSuite(apt)
		}
		if err != nil || d.Suite != want {
			t.Errorf("%q: got %v, %v; want %s", sources, d, err, want)
		}
		if _, err := Sources(apt, t.TempDir(), d, d.Suite, nil); err != nil && want == "sid" {
			t.Error(err)
		}
	}
}
