package run

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"tare/internal/study"
)

// foreign says which of these environments run the programs of an image that somebody
// else made as processes of this host; nothing where none does. An image from a recipe has
// the packages of the distribution.
func foreign(plan *study.Plan, names []string) []string {
	var open []string
	for _, e := range plan.Environments {
		if e.Kind == hostKind && e.Host == "" && e.Inside == nil && slices.Contains(names, e.Name) {
			open = append(open, e.Name)
		}
	}
	references := plan.References()
	if len(references) == 0 || len(open) == 0 {
		return nil
	}
	images := "image " + references[0]
	if len(references) > 1 {
		images = "images " + strings.Join(references, ", ")
	}
	who := "root of this machine"
	if os.Geteuid() != 0 {
		who = "this user, in a user namespace"
	}
	return []string{fmt.Sprintf("%s: the programs of %s run as %s, without isolation; if you do not trust them, leave it out and make another environment the baseline (docs/explanation/security.md)",
		strings.Join(open, ", "), images, who)}
}
