package fingerprint

import (
	"fmt"
	"strings"
	"testing"
)

func TestSettingsThatAliasesRepeatAreLeftOut(t *testing.T) {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for n := range 9 {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", n+1, n+1, strings.Repeat(fmt.Sprintf("*a%d, ", n), 10))
	}
	if got := Settings("x.yaml", text); len(got) != 0 {
		t.Errorf("%d settings", len(got))
	}
	if got := Settings("x.yaml", "a: "+strings.Repeat("[", 50_000)); len(got) != 0 {
		t.Errorf("%d settings", len(got))
	}
}
