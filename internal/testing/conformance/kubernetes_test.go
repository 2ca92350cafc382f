package conformance

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"tare/internal/testing/clustertest"
	"tare/internal/testing/testenv"
)

// inPods is a service account of the test cluster with nothing but its Role. Its nodes
// have the small image.
func inPods(more string) func(home string) (string, error) {
	return func(home string) (string, error) {
		options := map[string]any{"kubeconfig": filepath.Join(filepath.Dir(home), "no-cluster")}
		if err := json.Unmarshal([]byte(more), &options); err != nil {
			return "", err
		}
		if os.Getenv(clustertest.Variable) != "" {
			ctx := context.Background()
			file, err := clustertest.Account(ctx, filepath.Join(filepath.Dir(home), "cluster"))
			if err != nil {
				return "", err
			}
			img, err := testenv.Get(ctx, func(string) {})
			if err == nil {
				err = clustertest.Load(ctx, img)
			}
			if err != nil {
				return "", err
			}
			options["kubeconfig"] = file
		}
		text, err := json.Marshal(options)
		return string(text), err
	}
}
