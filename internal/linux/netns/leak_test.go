package netns

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain plays a user who may enter no namespace.
func TestMain(m *testing.M) {
	if os.Getenv("TARE_TEST_NETNS") == "" {
		goleak.VerifyTestMain(m) // does not return
	}
	err := keepsChildren(func() error {
		if space, err := New(); err == nil {
			return fmt.Errorf("it made the namespace %s", space.Name())
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}
