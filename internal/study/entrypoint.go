package study

import (
	"slices"

	"tare/internal/base/strictyaml"
	"tare/internal/workload"
)

// checkEntrypoints reports workloads that start what the image says, where the image is
// built from packages, which say nothing.
func checkEntrypoints(root strictyaml.Node, plan *Plan) {
	if plan.Image.Reference != "" {
		return
	}
	for _, w := range plan.Workloads {
		if slices.ContainsFunc(w.Pack.StartsImage(), func(s workload.Step) bool { return plan.Images[w.Pack.RoleImage(s.Role)].Reference == "" }) {
			root.At("workloads").Problemf("workload %s starts the image's own command, and an image that is built from packages has none: name an image with `image: {reference: ...}` in the study, or with --image of `tare workload check`", w.Name)
		}
	}
}
