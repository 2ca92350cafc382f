package study

import (
	"slices"

	"tare/internal/image"
	"tare/internal/strictyaml"
	"tare/internal/workload"
)

// hostImage is the image of the roles that run on the host in an image of their packs'
// recipes; nil where there are none. An image that is built from recipes has theirs.
func hostImage(root strictyaml.Node, plan *Plan) *image.Source {
	if plan.Image.Reference == "" {
		return nil
	}
	var recipes []image.Recipe
	for _, w := range plan.Workloads {
		for _, pack := range []*workload.Pack{&w.Pack, w.Neighbour} {
			if pack != nil && slices.ContainsFunc(pack.RoleNames(), pack.InOwnImage) {
				recipes = append(recipes, pack.Image)
			}
		}
	}
	if len(recipes) == 0 {
		return nil
	}
	merged, err := image.Merge(recipes...)
	if err != nil {
		root.At("workloads").Problemf("the image of the roles on the host: %s", err)
	}
	return &image.Source{Recipe: &merged}
}
