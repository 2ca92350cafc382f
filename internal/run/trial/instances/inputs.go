package instances

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"tare/internal/base/bounded"
	"tare/internal/study"
)

// takeInputs copies the files of the plan into the instance, which is the same way in
// every environment. A file that changed since it was planned would give one environment
// other work than the others.
func (i *Instance) takeInputs(ctx context.Context, inputs []study.Input) error {
	for _, in := range inputs {
		if err := i.takeInput(ctx, in); err != nil {
			return fmt.Errorf("%s: copying the input %s to %s: %w", i.Name, in.From, in.To, err)
		}
	}
	return nil
}

func (i *Instance) takeInput(ctx context.Context, in study.Input) error {
	file, err := bounded.Open(in.From)
	if err != nil {
		return bounded.Cause(err)
	}
	defer file.Close()
	sum := sha256.New()
	if err := i.Agent().WriteFrom(ctx, in.To, 0o644, io.TeeReader(file, sum)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != in.SHA256 {
		return fmt.Errorf("the file changed since the run was planned (SHA-256 %.12s, now %.12s): begin a new run", in.SHA256, got)
	}
	return nil
}
