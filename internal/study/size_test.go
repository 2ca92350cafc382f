package study

import (
	"strings"
	"testing"
)

const pages = `study: pages
baseline: native
environments: {native: {}, docker: {with: {nginx: {page: 4 KiB}}}}
workloads:
  - {use: nginx, connections: 1, page: 2048}
  - {use: redis, size: [64, 1KiB]}
  - {use: fio, size: 32MiB, block_size: {from: 4KiB, to: 16k, factor: 2}}
`

func TestSizesAreWrittenAsInAllOfAStudy(t *testing.T) {
	plan, err := resolveText(t, pages, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	var levels []string
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			levels = append(levels, l.Name)
		}
	}
	check(t, "the levels", levels, []string{"", "size=64", "size=1KiB", "block_size=4096", "block_size=8192", "block_size=16384"})
	check(t, "an environment's own", plan.Environments[1].With["nginx"]["page"], "4KiB")
	for text, want := range map[string]string{
		strings.Replace(pages, "[64, 1KiB]", "[1024, 1KiB]", 1):  "size: 1KiB is listed twice",
		strings.Replace(pages, "from: 4KiB", "from: 4 pages", 1): "block_size: from: \"4 pages\" is not a size: write a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB",
		strings.Replace(pages, "page: 4 KiB", "page: 4GB", 1):    "with: page: 4GB is out of range: 1 to 1000000000 B are allowed",
	} {
		if _, err := resolveText(t, text, Overrides{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
