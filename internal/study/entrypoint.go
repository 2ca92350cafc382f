package study

import "tare/internal/strictyaml"

// checkEntrypoints reports workloads that start what the image says, where the image is
// built from packages, which say nothing.
func checkEntrypoints(root strictyaml.Node, plan *Plan) {
	if plan.Image.Reference != "" {
		return
	}
	for _, w := range plan.Workloads {
		if w.Pack.StartsImage() {
			root.At("workloads").Problemf("workload %s starts the image's own command, and an image that is built from packages has none: name an image with `image: {reference: ...}` in the study, or with --image of `tare workload check`", w.Name)
		}
	}
}
