package bounded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADirectoryOfTemporaryFilesThatIsNotThereIsNamed(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("TMPDIR", none)
	if _, err := Temporary("x-"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "no directory can be made in "+none) || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Error(err)
	}
}
