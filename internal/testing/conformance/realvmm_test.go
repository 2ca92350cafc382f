package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// realVMM runs a kind with its program, which a variable or its name on the PATH names.
func realVMM(variable, program, start string) func(home string) (string, error) {
	const timeout = 10 * time.Minute // where KVM itself is emulated
	return func(string) (string, error) {
		named, err := json.Marshal(cmp.Or(os.Getenv(variable), program))
		return fmt.Sprintf(`{"program": %s, "data": "64MiB", "start": "%s", "start_timeout": %d}`, named, start, timeout), err
	}
}
