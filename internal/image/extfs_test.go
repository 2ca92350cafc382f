package image

import (
	"archive/tar"
	"strings"
	"testing"
)

func TestTheListOfADirectoryIsReadStrictly(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{"", "does not list"},
		{"/12/040755/0/0/.//\n/13/100644/0/0/new\nline/0/\n", "line break"},
		{"/12/040755/0/0/.//\n/13/100644/0/0/../up/0/\n", "line break"},
	} {
		fs := extfs{inodes: map[int64]*tar.Header{}, first: map[int64]string{}, budget: must(newBudget(t.TempDir()))}
		if _, err := fs.list(extFile{"etc", 12}, c.answer); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.answer, err, c.want)
		}
	}
}
