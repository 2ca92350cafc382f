// Package machine tests whole commands of tare on a machine as users have it, which
// scripts/test-machine.sh makes: systemd is PID 1, cgroup v2 the only hierarchy, and KVM
// works.
//
// It must not know how a kind works: it reads what tare prints.
package machine

import (
	"testing"

	"tare/internal/environment"
	_ "tare/internal/environment/qemu"
	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/testing/testenv"
)

// The disk of the machine is made with them.
func TestTheImagesOfTheTestsAreMade(t *testing.T) {
	needsMachine(t)
	testenv.NeedsAgent(t)
	img := testenv.Image(t)
	store, err := image.Open(testenv.Images())
	if err != nil {
		t.Fatal(err)
	}
	// What `tare bench -- true` runs.
	if _, err := store.Get(t.Context(), image.Source{Recipe: &recipe.Recipe{Packages: []string{"coreutils"}}}, func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	registration, _ := environment.Lookup("qemu")
	guest, err := registration.New(registration.Options())
	if err == nil {
		err = guest.Prepare(t.Context(), img, func(line string) { t.Log(line) })
	}
	if err != nil {
		t.Fatal(err)
	}
}
