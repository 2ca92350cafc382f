package reporttest

import (
	_ "embed"

	"tare/internal/papers/published"
	"tare/internal/report/model"
)

//go:embed published.yaml
var printed []byte

// Beside is Quick with a study that printed some of the same.
func Beside() model.Input {
	s, err := published.Parse("published.yaml", printed)
	if err != nil {
		panic(err)
	}
	in := Quick()
	in.Against = model.ComparePublished(s, in)
	return in
}
