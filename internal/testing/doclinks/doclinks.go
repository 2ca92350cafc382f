// Package doclinks finds links of Markdown pages that lead nowhere: to a file
// that does not exist, or to a heading that its page does not have. Links to
// other hosts are not followed: the check works without a network.
//
// It must not know what the pages are about.
package doclinks

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(<?([^()\s<>]+)>?(?:\s+"[^"]*")?\)`)
	refLink = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)`)
	heading = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*\s*$`)
	anchor  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	fence   = regexp.MustCompile("^\\s*(```+|~~~+)")
	code    = regexp.MustCompile("`[^`]*`")
	text    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Pages lists the Markdown pages below a directory, without those of other
// projects and of tests.
func Pages(root string) (pages []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "build", "bin", "node_modules", "testdata"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !entry.IsDir() && strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return nil
	})
	return pages, err
}

// Broken lists the links of a page that lead nowhere, each with its line.
func Broken(page string) (broken []string, err error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	lines(string(data), func(number int, line string) {
		plain := code.ReplaceAllString(line, "``")
		targets := link.FindAllStringSubmatch(plain, -1)
		targets = append(targets, refLink.FindAllStringSubmatch(plain, -1)...)
		for _, t := range targets {
			if reason := check(page, t[1]); reason != "" {
				broken = append(broken, fmt.Sprintf("%s:%d: %s: %s", page, number, t[1], reason))
			}
		}
	})
	return broken, nil
}

func check(page, target string) (reason string) {
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	file := page
	if u.Path != "" {
		file = filepath.Join(filepath.Dir(page), filepath.FromSlash(u.Path))
	}
	if _, err := os.Stat(file); err != nil {
		return "no such file"
	}
	if u.Fragment == "" || !strings.HasSuffix(file, ".md") {
		return ""
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchors(string(data)), u.Fragment) {
		return "no such heading"
	}
	return ""
}

// lines calls do for every line outside of code blocks.
func lines(page string, do func(number int, line string)) {
	closing := ""
	number := 0
	for line := range strings.Lines(page) {
		number++
		mark := fence.FindStringSubmatch(line)
		switch {
		case closing == "" && mark != nil:
			closing = mark[1]
		case closing == "":
			do(number, strings.TrimRight(line, "\r\n"))
		case mark != nil && strings.HasPrefix(mark[1], closing):
			closing = ""
		}
	}
}

// anchors are the names of a page's headings as GitHub makes them.
func anchors(page string) (names []string) {
	seen := map[string]int{}
	lines(page, func(_ int, line string) {
		for _, a := range anchor.FindAllStringSubmatch(line, -1) {
			names = append(names, a[1])
		}
		h := heading.FindStringSubmatch(line)
		if h == nil {
			return
		}
		name := slug(text.ReplaceAllString(h[1], "$1"))
		n := seen[name]
		seen[name]++
		if n > 0 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		names = append(names, name)
	})
	return names
}

func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
