package latex

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tare/internal/base/visible"
)

// commands are what characters are written as that LaTeX would obey, that its oldest
// engine does not know, or that form a ligature. No brackets or stars of a text can be
// taken for those of a command before it.
var commands = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '^': `\textasciicircum{}`, '_': `\_`, '~': `\textasciitilde{}`, '%': `\%`,
	'<': `\textless{}`, '>': `\textgreater{}`, '|': `\textbar{}`, '"': `{''}`, '`': `\textasciigrave{}`, '[': `{[}`, ']': `{]}`, '*': `{*}`, '-': `-{}`, '\'': `'{}`,
	'µ': `\textmu{}`, 'μ': `\textmu{}`, '×': `$\times$`, '−': `$-$`, '±': `$\pm$`, '·': `$\cdot$`, '…': `\ldots{}`, '≤': `$\le$`, '≥': `$\ge$`, '∞': `$\infty$`, '°': `\textdegree{}`, '–': `--`, '—': `---`, '\u00a0': `~`,
}

// longWord is from how many characters on a word can be broken: after its joints, or
// anywhere where it has a part as long, such as a digest.
const longWord = 24

// escape is a text as LaTeX that prints it.
func escape(text string) string { return written(text, 0) }

// running is a text within a paragraph, which is set in lines.
func running(text string) string { return written(text, longWord) }

// written is a text whose words of more than so many characters can be broken; 0 for none.
func written(text string, long int) string {
	var out strings.Builder
	for _, word := range strings.SplitAfter(visible.Line(text), " ") {
		writeWord(&out, word, long)
	}
	return out.String()
}

// joints are what a long word is broken after, if it has enough of them.
const joints = "-_,=/.:+@"

func writeWord(out *strings.Builder, word string, long int) {
	breaking := long > 0 && len(word) > long
	anywhere := breaking && slices.ContainsFunc(strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(joints, r) }), func(part string) bool { return len(part) > long })
	var before rune
	for i, r := range word {
		if i > 0 && breaking && (anywhere || strings.ContainsRune(joints, before)) {
			out.WriteString(`\allowbreak{}`)
		}
		before = r
		command, known := commands[r]
		switch {
		case known:
			out.WriteString(command)
		case r < 0x80 || r >= 0xc0 && r <= 0x17f && unicode.IsLetter(r):
			out.WriteRune(r)
		default:
			// pdfTeX knows no other characters, and passes over what newer engines print.
			fmt.Fprintf(out, `\ifdefined\Umathcode %c\else U+%04X\fi{}`, r, r)
		}
	}
}

// comment is a text that stays within a line that begins with %.
func comment(text string) string { return visible.Line(text) }
