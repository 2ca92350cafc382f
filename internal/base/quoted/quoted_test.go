package quoted

import "testing"

func TestAMessageIsCutIntoWhatItSaysAndWhatItQuotes(t *testing.T) {
	console := Lines("last lines of the console", []string{"one", "  two:", "three"})
	for _, c := range []struct{ message, says, output string }{
		{"it failed", "it failed", ""},
		{"", "", ""},
		{"it failed" + Lines("its last output", nil), "it failed", ""},
		{"it failed" + console, "it failed", console[1:]},
		{"it failed" + console + Lines("the log", []string{"x"}), "it failed", console[1:] + "\nthe log:\n  x"},
		{"it failed" + console + "\nand cleaning up after it: that too", "it failed\nand cleaning up after it: that too", console[1:]},
		{"it failed:\nbecause of this", "it failed:\nbecause of this", ""},
		{"its heading is no output:\n  a line", "its heading is no output:", "  a line"},
	} {
		if says, output := Cut(c.message); says != c.says || output != c.output {
			t.Errorf("%q is cut into %q and %q, not %q and %q", c.message, says, output, c.says, c.output)
		}
	}
}
