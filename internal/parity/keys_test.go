package parity

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	page  = "../../docs/reference/fingerprints.md"
	begin = "<!-- keys: made by: TARE_UPDATE=1 go test ./internal/parity -run ThePage -->\n"
	end   = "<!-- end of keys -->\n"
)

func table() string {
	var b strings.Builder
	b.WriteString(begin + "\n| key | unit | seen | what |\n|---|---|---|---|\n")
	for _, k := range Keys() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, k.Unit, k.Seen, strings.ReplaceAll(k.About, "|", `\|`))
	}
	return b.String() + "\n" + end
}

func TestThePageListsAllKeys(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no place for the keys", page)
	}
	if want := before + table() + after; want != string(text) {
		if os.Getenv("TARE_UPDATE") == "" {
			t.Fatalf("%s is behind the table of keys: TARE_UPDATE=1 go test ./internal/parity -run ThePage", page)
		}
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeysAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Keys() {
		if seen[k.Name] || k.About == "" || k.Seen != Inside && k.Seen != Outside && k.Seen != Planned {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
	}
}

func TestAKeyIsOfTheKindWhosePatternItFits(t *testing.T) {
	for fact, want := range map[string]string{
		"kernel.release": "kernel.release", "sysctl[net.core.somaxconn]": "sysctl[*]", "path[/a.b/c].host.cache": "path[*].host.cache",
		"configuration[server/nginx.conf][http.server.location /.root]": "configuration[*][*]", "configuration[server/nginx.conf].sha256": "configuration[*].sha256",
		"log[server].file[/data/a@b.log]": "log[*].file[*]", "ulimit[nofile].soft@driver": "ulimit[*].soft", "environment[A]": "environment[*]",
		"kernel": "", "sysctl[]": "", "sysctl[a].b": "", "path[/].colour": "", "ulimit[nofile]": "",
	} {
		if k, _ := KeyOf(fact); k.Name != want {
			t.Errorf("%s is taken for %q, want %q", fact, k.Name, want)
		}
	}
	if key, role := SplitRole("log[server].file[/a@b]"); role != "" || key != "log[server].file[/a@b]" {
		t.Errorf("a role %q was found in a path", role)
	}
	if key, role := SplitRole(At("path[/data].below", "driver")); role != "driver" || key != "path[/data].below" || Argument(key) != "/data" {
		t.Errorf("%q %q", key, role)
	}
}

// KeyOf returns the definition of a fact's key.
func KeyOf(fact string) (Key, bool) {
	fact, _ = SplitRole(fact)
	for _, k := range Keys() {
		if Match(k.Name, fact) {
			return k, true
		}
	}
	return Key{}, false
}
