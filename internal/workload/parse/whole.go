package parse

import "strings"

// What stands directly before a number, or behind it, and makes it a piece of another one.
// Digits, a point with digits and an exponent do so wherever they are. Separators of
// thousands, decimal commas, signs and multiples do so outside of what an expression
// matches: inside, it says that they are something else.
var (
	digitsBefore    = expression(`[0-9](\.|[eE][+-]?)?$`)
	digitsBehind    = expression(`^(\.|[eE][+-]?)?[0-9]`)
	separatedBefore = expression(`[0-9]([,'_’]|[ \x{00a0}\x{2009}\x{202f}])$|(^|[\s=:(\[,])[-−]$`)
	separatedBehind = expression(`^([,'_’][0-9]|[ \x{00a0}\x{2009}\x{202f}][0-9]{3}($|[^0-9])|[kKMGT]($|[^A-Za-z]))`)
	thousand        = expression(`^[0-9]{3}($|[^0-9])`)
)

// near is how many bytes around a number are looked at.
const near = 16

// checkWhole refuses a group of a match that is a piece of a number in the text.
func checkWhole(text []byte, match []int, group int) {
	begin, end := match[2*group], match[2*group+1]
	before := string(text[max(begin-near, 0):begin])
	behind := string(text[end:min(end+near, len(text))])
	number := string(text[begin:end])
	piece := digitsBefore.match(before) || digitsBehind.match(behind)
	if match[0] == begin && separatedBefore.match(before) {
		last := before[len(before)-1]
		piece = piece || last != ' ' || thousand.match(number)
	}
	piece = piece || match[1] == end && separatedBehind.match(behind)
	if piece {
		fail("%q is a piece of the number in %q: make the expression match the whole of it, or the tool print it without separators", number, clip(line(before, number+behind)))
	}
}

// line is a text around a place, up to the ends of its line.
func line(before, behind string) string {
	before = before[strings.LastIndexByte(before, '\n')+1:]
	behind, _, _ = strings.Cut(behind, "\n")
	return strings.ToValidUTF8(before+behind, "")
}
