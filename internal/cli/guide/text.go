package guide

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
	"tare/internal/base/term"
)

// Text writes the guide for a screen. Commands are lines of their own, to be copied, and
// are not wrapped.
func (g Guide) Text(w io.Writer, width int) {
	say := func(format string, args ...any) {
		fmt.Fprint(w, term.Prose(fmt.Sprintf(format, args...), width))
	}
	say("tare measures what an isolation layer costs a real workload.")
	fmt.Fprintln(w)
	works := strings.Join(lists.Filter(g.Works, func(name string) bool { return !slices.Contains(g.Caveats, name) }), ", ")
	if len(g.Caveats) > 0 {
		works += "; with a caveat: " + strings.Join(g.Caveats, ", ")
	}
	if works = strings.TrimPrefix(works, "; "); works == "" {
		works = "no environment yet"
		if len(g.Unknown) > 0 {
			works = "none is known yet"
		}
	}
	say("Works here: %s", works)
	for _, a := range g.Adds {
		verb, then := "adds", ""
		if a.Maybe {
			verb = "may add"
		}
		if a.Then != "" {
			then = " (" + a.Then + ")"
		}
		say("One command %s %s%s:", verb, words(a.Adds), then)
		fmt.Fprintln(w, "  "+a.Command)
	}
	if len(g.Others) > 0 {
		say("Not here: %s (`tare doctor` says why)", strings.Join(g.Others, ", "))
	}
	if len(g.Unknown) > 0 {
		say("Not known within a second: %s (`tare doctor` waits)", strings.Join(g.Unknown, ", "))
	}
	if len(g.Blocked) > 0 {
		say("Nothing can be measured yet:")
	}
	for _, b := range g.Blocked {
		for i, line := range term.Wrap(b, width-4) {
			fmt.Fprintln(w, "  "+strings.Repeat("  ", min(i, 1))+line)
		}
	}
	if g.Alone != "" {
		say("With %s alone, programs can be measured and not compared.", g.Alone)
	}
	if g.Images != "" {
		say("No image can be built, as those of built-in studies are: %s", g.Images)
	}
	fmt.Fprintln(w)
	if n := g.Newest; n != nil {
		about := n.State
		if n.About != "" && n.About != n.State {
			about += ": " + n.About
		}
		say("Newest of %s: %s, %s", runs(g.Runs), n.Name, about)
		if n.Report != "" {
			fmt.Fprintln(w, "  "+n.Report)
		}
	} else if g.Runs == 0 {
		say("There is no run yet.")
		if g.Elsewhere != "" {
			say("%s", strings.ToUpper(g.Elsewhere[:1])+g.Elsewhere[1:])
		}
	}
	say("Next:")
	steps(w, width, append(g.Next, Step{"tare --help", "all commands"}))
}

// steps writes commands with what they do, beside them as far as that fits.
func steps(w io.Writer, width int, list []Step) {
	const most = 40 // columns of commands
	column := 0
	for _, s := range list {
		if n := ansi.StringWidth(s.Command); n <= most {
			column = max(column, n)
		}
	}
	for _, s := range list {
		n, gap := ansi.StringWidth(s.Command), "  "
		fmt.Fprint(w, "  "+s.Command)
		if n > column {
			fmt.Fprintln(w)
			n, gap = 0, "    "
		}
		lines := term.Wrap(s.Does, max(width-column-4, 24))
		for i, line := range lines {
			if i > 0 {
				n, gap = 0, "    "
			}
			fmt.Fprintln(w, strings.Repeat(" ", column-n)+gap+line)
		}
	}
}

func words(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

func runs(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
