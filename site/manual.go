package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"tare/internal/cli"
)

// manuals writes a manual page for each command, tare.1 and tare-run.1 among them, as of
// a version and the day of its commit.
func manuals(out, version string, date time.Time) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var write func(c *cobra.Command) error
	write = func(c *cobra.Command) error {
		if !c.IsAvailableCommand() && c.HasParent() {
			return nil
		}
		c.DisableAutoGenTag = true
		c.Long = examples(c.Long)
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		file, err := os.Create(filepath.Join(out, name+".1"))
		if err != nil {
			return err
		}
		defer file.Close()
		header := doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Date: &date, Source: "tare " + version, Manual: "tare's manual"}
		if err := doc.GenMan(c, &header, file); err != nil {
			return err
		}
		if !c.HasParent() {
			fmt.Fprint(file, trailer())
		}
		for _, below := range c.Commands() {
			if err := write(below); err != nil {
				return err
			}
		}
		return file.Close()
	}
	return write(cli.Tree(version))
}

// examples makes the indented lines of a help text those of Markdown, which are not filled.
func examples(help string) string {
	var lines []string
	inside := false
	for _, line := range strings.Split(help, "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != inside && line != "" {
			lines, inside = append(lines, ""), indented
		}
		if inside && line != "" {
			line = "  " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// trailer is what tare(1) says besides, in the words of man: the commands, and what they
// have in common.
func trailer() string {
	var text strings.Builder
	text.WriteString(".SH EXIT STATUS\n")
	for _, s := range cli.Statuses {
		fmt.Fprintf(&text, ".TP\n.B %d\n%s\n", s.Status, s.Meaning)
	}
	text.WriteString(`.SH ENVIRONMENT
.TP
.B TARE_HOME
Directory of runs, images and temporary state. By default /var/lib/tare for root, and
~/.local/share/tare for other users.
.TP
.B TARE_SSH
Program that reaches other machines, in place of ssh.
.SH FILES
.TP
.I /var/lib/tare/runs
Directories of runs: the journal, raw output and report of each.
`)
	return text.String()
}
