package conformance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"tare/internal/testing/microvmtest"
)

// doubled runs a kind with the double of its program, which is built beside the
// home: no machine without KVM runs the program itself.
func doubled(source, program, options string) func(home string) (string, error) {
	const timeout = 2 * time.Minute // for guests that are emulated, on a busy machine
	return func(home string) (string, error) {
		path, err := microvmtest.BuildFake(filepath.Join(filepath.Dir(home), "bin"), source, program)
		if err != nil {
			return "", err
		}
		quoted, err := json.Marshal(path)
		return fmt.Sprintf(`{"program": %s, "data": "64MiB", "start_timeout": %d, %s}`, quoted, timeout, options), err
	}
}
