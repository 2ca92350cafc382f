package calls

import (
	"fmt"
	"io"
	"os"
)

// ofPrograms is no call, but what a program does between calls: the study quick has it
// beside the kind compute.
var ofPrograms = []Kind{{"copy-1m", copyMemory}}

// copyMemory copies a mebibyte, between buffers that were used before.
func copyMemory() (func(int) error, error) {
	from, to := make([]byte, 1<<20), make([]byte, 1<<20)
	for i := range from {
		from[i] = byte(i)
	}
	return loop(func() error { copy(to, from); return nil })
}

// programFile is a copy of the program, since its file is outside of the root in some
// environments.
const programFile = "tare-agent"

func prepareProgram() error {
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("copying the program: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(programFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return fmt.Errorf("copying the program: %w", err)
	}
	if _, err = io.Copy(out, in); err != nil {
		_ = out.Close()
		return fmt.Errorf("copying the program to %s: %w", programFile, err)
	}
	return out.Close()
}
