package model

import (
	"regexp"
	"testing"

	"tare/internal/base/lists"
)

func TestEachSourceOfASentenceIsInTheFileOfSourcesAndNoOtherIs(t *testing.T) {
	cited := map[string]bool{}
	for _, cites := range regexp.MustCompile(`Cite((?: "\w+")+)`).FindAllStringSubmatch(sentences, -1) {
		for _, key := range regexp.MustCompile(`\w+`).FindAllString(cites[1], -1) {
			cited[key] = true
			if key != "tare" && lists.Find(sources().References, func(r *Reference) bool { return r.Key() == key }) == nil {
				t.Errorf("%s is cited, but is no source", key)
			}
		}
	}
	for _, r := range append(sources().References, sources().Reference) {
		if !cited[r.Key()] {
			t.Errorf("no sentence cites %s", r.Key())
		}
	}
}
