package visible

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestCharactersThatActAreShown(t *testing.T) {
	for _, c := range []struct{ given, text, line string }{
		{"plain ü 漢 👍🏽 − “x”", "plain ü 漢 👍🏽 − “x”", "plain ü 漢 👍🏽 − “x”"},
		{"a\x1b[2J\x07b", `a\u001b[2J\u0007b`, `a\u001b[2J\u0007b`},
		{"a\u009b31m\x7f", `a\u009b31m\u007f`, `a\u009b31m\u007f`},
		{"a\x9b31m", `a\x9b31m`, `a\x9b31m`},
		{"\u202etxt\u2066\u200f", `\u202etxt\u2066\u200f`, `\u202etxt\u2066\u200f`},
		{"one\ntwo\tthree", "one\ntwo\tthree", `one\u000atwo\u0009three`},
		{"one\r\ntwo\rthree", "one\ntwo\\u000dthree", `one\u000d\u000atwo\u000dthree`},
		{"\ufffd is one", "\ufffd is one", "\ufffd is one"},
	} {
		if got := Text(c.given); got != c.text {
			t.Errorf("Text(%q) = %q, not %q", c.given, got, c.text)
		}
		if got := Line(c.given); got != c.line {
			t.Errorf("Line(%q) = %q, not %q", c.given, got, c.line)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[2J\u202e\x9b\r\nb")
	f.Fuzz(func(t *testing.T, given string) {
		shown := Text(given)
		for _, r := range shown {
			if acts(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q has %U", shown, r)
			}
		}
		if !utf8.ValidString(shown) || Text(shown) != shown {
			t.Fatalf("%q", shown)
		}
		encoded, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		var want, have string
		if json.Unmarshal(encoded, &want) != nil || json.Unmarshal([]byte(Text(string(encoded))), &have) != nil || have != want {
			t.Fatalf("JSON of %q means %q afterwards", want, have)
		}
		if json.Unmarshal([]byte(JSON(string(encoded))), &have) != nil {
			t.Fatalf("%s is no JSON", JSON(string(encoded)))
		}
	})
}

func TestNamesAreOneLine(t *testing.T) {
	type inner struct{ Name, Text string }
	value := struct {
		Environment string
		Instances   []string
		Of          map[string]*inner
		Reason      string
	}{"a\nb", []string{"c\nd"}, map[string]*inner{"e\nf": {"g\nh", "i\nj"}}, "k\nl"}
	Names(&value)
	got, _ := json.Marshal(value)
	if want := `{"Environment":"a\\u000ab","Instances":["c\\u000ad"],"Of":{"e\\u000af":{"Name":"g\\u000ah","Text":"i\nj"}},"Reason":"k\nl"}`; string(got) != want {
		t.Errorf("%s", got)
	}
}

// What GitHub and GitLab make links and notifications of, beside the markup itself.
func TestTextInMarkdownCallsNobody(t *testing.T) {
	const apart = "&#8203;"
	for text, want := range map[string]string{
		"ask @team":              "ask @" + apart + "team",
		"&#64;team &commat;team": "&amp;#" + apart + "64;team &amp;commat;team",
		"https://evil.example":   "https:" + apart + "//evil.example",
		"WWW.evil.example":       "WWW" + apart + ".evil.example",
		"me@evil.example":        "me@" + apart + "evil.example",
		"closes #12, !3, GH-4":   "closes #" + apart + "12, !" + apart + "3, GH" + apart + "-4",
		"@_x":                    "@" + apart + `\_x`,
		"p99 <= 5 ms: a, b":      "p99 &lt;= 5 ms: a, b",
	} {
		if got := Markdown(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}
