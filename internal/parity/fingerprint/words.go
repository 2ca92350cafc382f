package fingerprint

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Shell words that are not programs, or not programs that matter.
var (
	grammar  = strings.Fields("if then elif else fi while until do done case esac ! { } time")
	builtins = strings.Fields(`. : [ alias bg break cd command continue echo eval exit export false fg getopts hash jobs kill local printf
		pwd read readonly return set shift test times trap true type ulimit umask unalias unset wait function for in select`)
	everyday = strings.Fields(`awk basename cat chmod chown cp cut date dirname env expr find grep head ln ls mkdir mktemp mv nproc ps
		rm rmdir sed seq sleep sort sync tail tee touch tr uniq wc xargs sh dash`)
	// before are programs that run another one, named after their options.
	before = strings.Fields("exec env nice ionice nohup setsid stdbuf taskset chrt numactl timeout su sudo runuser setpriv")
)

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	plainWord  = regexp.MustCompile(`^[A-Za-z0-9_./+-]+$`)
	number     = regexp.MustCompile(`^[0-9][0-9.,-]*[a-z]?$`)
	function   = regexp.MustCompile(`(?m)^\s*([A-Za-z_][A-Za-z0-9_]*)\s*\(\)`)
	quoted     = regexp.MustCompile(`'[^']*'|"(?:\\.|[^"\\])*"`)
	redirect   = regexp.MustCompile(`[0-9]*(>>?|<)(&[0-9-]|\s*[^\s;|&()<>]+)`)
	// document is a here-document, up to its last line.
	document  = regexp.MustCompile(`<<-?\s*['"]?([A-Za-z_]+)['"]?`)
	separator = regexp.MustCompile("[\n;|&()`]+|\\$\\(")
)

// Programs returns the programs that a command runs: its first word; for a shell
// script the programs that replace it (exec NAME), else all that it runs except
// common tools (cat, mkdir, ...). Names in variables ("$x") are not found.
func Programs(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	if shell := filepath.Base(words[0]); len(words) >= 3 && words[1] == "-c" && (shell == "sh" || shell == "bash" || shell == "dash") {
		return inScript(words[2])
	}
	if name := first(words); name != "" {
		return []string{name}
	}
	return nil
}

func inScript(text string) []string {
	text = withoutDocuments(text)
	functions := map[string]bool{}
	for _, f := range function.FindAllStringSubmatch(text, -1) {
		functions[f[1]] = true
	}
	text = quoted.ReplaceAllStringFunc(text, func(q string) string {
		if q[0] == '"' && strings.Contains(q, "$(") || !strings.ContainsAny(q, " \t\n|;&") {
			return q
		}
		return `""`
	})
	text = redirect.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), " ")
	var becomes, runs []string
	add := func(list []string, name string) []string {
		if name == "" || slices.Contains(list, name) {
			return list
		}
		return append(list, name)
	}
	for _, command := range separator.Split(text, -1) {
		words := strings.Fields(command)
		for len(words) > 0 && (slices.Contains(grammar, words[0]) || assignment.MatchString(words[0])) {
			words = words[1:]
		}
		name := first(words)
		if functions[name] {
			continue
		}
		if len(words) > 0 && words[0] == "exec" {
			becomes = add(becomes, name)
		} else if !slices.Contains(builtins, name) && !slices.Contains(everyday, filepath.Base(name)) {
			runs = add(runs, name)
		}
	}
	if len(becomes) > 0 {
		return becomes
	}
	return runs
}

// first returns the first program of a command's words, after those that only run
// another one.
func first(words []string) string {
	wrapped := false
	for len(words) > 0 {
		word := strings.Trim(words[0], `"'`)
		switch {
		case slices.Contains(before, word):
			wrapped = true
		case wrapped && (strings.HasPrefix(word, "-") || assignment.MatchString(word) || number.MatchString(word)):
		case !plainWord.MatchString(word) || strings.HasPrefix(word, "-"):
			return ""
		default:
			return word
		}
		words = words[1:]
	}
	return ""
}

func withoutDocuments(text string) string {
	for {
		at := document.FindStringSubmatchIndex(text)
		if at == nil {
			return text
		}
		end := text[at[2]:at[3]]
		line := strings.IndexByte(text[at[1]:], '\n')
		if line < 0 {
			return text[:at[0]]
		}
		rest := text[at[1]+line+1:]
		kept := text[:at[0]] + text[at[1]:at[1]+line+1]
		for {
			one, more, found := strings.Cut(rest, "\n")
			rest = more
			if strings.TrimSpace(one) == end || !found {
				break
			}
		}
		text = kept + rest
	}
}
