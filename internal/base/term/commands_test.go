package term

import (
	"encoding/json"
	"strings"
	"testing"
)

// What prints a job's output takes commands from it: GitHub lines that begin with ::, and
// others ## with a bracket anywhere.
func TestNoLineIsACommandToARunnerOfCI(t *testing.T) {
	for text, want := range map[string]string{
		"::set-output name=verdict::met\n":     `\u003a:set-output name=verdict::met` + "\n",
		"a\n \t\u00a0::stop-commands::x":       "a\n \t\u00a0" + `\u003a:stop-commands::x`,
		"a b ##[add-mask]x ##vso[task.x]y":     `a b \u0023#[add-mask]x \u0023#vso[task.x]y`,
		"ladder::part, a :: b":                 "ladder::part, a :: b",
		"## heading\n###\n#[1]\n: one":         "## heading\n###\n#[1]\n: one",
		"a\r::error::x":                        `a\u000d::error::x`,
		"1" + Own("\r") + "::error::x":         "1\r" + `\u003a:error::x`,
		"1" + Own("\x1b[2m") + "::error::x\n":  "1\x1b[2m::error::x\n",
		`{"reason": "##[group]", "at": "::1"}`: `{"reason": "\u0023#[group]", "at": "::1"}`,
	} {
		var out strings.Builder
		if n, err := NewWriter(&out).Write([]byte(text)); err != nil || n != len(text) || out.String() != want {
			t.Errorf("%q becomes %q, not %q (%v)", text, out.String(), want, err)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) == nil {
			if err := json.Unmarshal([]byte(out.String()), &after); err != nil || after.(map[string]any)["reason"] != "##[group]" {
				t.Errorf("%q is other JSON: %v", out.String(), err)
			}
		}
		// In pieces of any length no command arises either.
		for cut := range text {
			if strings.Contains(text, mark) {
				break
			}
			out.Reset()
			w := NewWriter(&out)
			for _, piece := range []string{text[:cut], text[cut:]} {
				_, _ = w.Write([]byte(piece))
			}
			for line := range strings.FieldsFuncSeq(out.String(), func(r rune) bool { return r == '\n' || r == '\r' }) {
				if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
					t.Errorf("%q, cut at %d, becomes %q", text, cut, out.String())
				}
			}
		}
	}
}
