package childprocess

import "testing"

func TestARootDirectoryThatIsNoMountPointIsSeen(t *testing.T) {
	if !rootMounted("/proc") || rootMounted(t.TempDir()) {
		t.Error("/proc is no mount point, or a new directory is one")
	}
}
