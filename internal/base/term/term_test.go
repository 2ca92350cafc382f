package term

import "testing"

func TestHelpFlowsAndKeepsListsAndCommands(t *testing.T) {
	got := Flow("One two three four\nfive six.\n\nA list:\n  tare doctor        which environments work\n  tare run\nand on.", 20)
	want := "One two three four\nfive six.\n\nA list:\n  tare doctor        which environments work\n  tare run\nand on."
	if got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := Flow("One two three four\nfive six.", 40); got != "One two three four five six." {
		t.Errorf("%q", got)
	}
}

func TestProseIsBrokenOnATerminalAndItsCommandsAreNot(t *testing.T) {
	const text = "tare: interrupted in the middle of all; go on with `tare run --resume quick-20261121-014500`\nstudy.yaml:3:5: margin: needs a share, such as 2%"
	want := "tare: interrupted in the middle of all;\n  go on with\n  `tare run --resume quick-20261121-014500`\nstudy.yaml:3:5: margin: needs a share,\n  such as 2%\n"
	if got := Prose(text, 42); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
