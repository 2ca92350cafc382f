// Command site writes the generated pages of the documentation site: each command with
// its help, and each JSON schema as tables. scripts/docs.sh calls it. With -manuals it
// writes manual pages of the commands instead; scripts/release.sh calls it so.
//
// It must not know how pages become HTML.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/cli"

	// The environments register themselves; help lists them.
	_ "tare/internal/environment/bubblewrap"
	_ "tare/internal/environment/cloudhypervisor"
	_ "tare/internal/environment/containerd"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/firecracker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/kubernetes"
	_ "tare/internal/environment/machine"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
	_ "tare/internal/environment/virtualbox"
	_ "tare/internal/environment/vsphere"
)

func main() {
	schemas := flag.String("schemas", "schema", "`directory` of the JSON schemas")
	out := flag.String("out", "build/site/pages/docs/generated", "`directory` for the pages")
	man := flag.String("manuals", "", "`directory` for manual pages, which are all that is written then")
	version := flag.String("version", "development", "`version` that manual pages are of")
	date := flag.Int64("date", 0, "its `time`, in seconds since 1970")
	flag.Parse()
	var err error
	if *man != "" {
		err = manuals(*man, *version, time.Unix(*date, 0).UTC())
	} else {
		err = write(*schemas, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func write(schemas, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "commands.md"), []byte(commands()), 0o644); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(schemas, "*.schema.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		page, err := schemaPage(filepath.Base(file), text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".schema.json") + ".md"
		if err := os.WriteFile(filepath.Join(out, name), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// commands is the page with the help of all commands.
func commands() string {
	var page strings.Builder
	page.WriteString("# Help of all commands\n\nWhat `tare COMMAND --help-all` prints. [Commands](../reference/commands.md) explains them.\n")
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		var text bytes.Buffer
		c.SetOut(&text)
		_ = c.Help() // writes to memory
		fmt.Fprintf(&page, "\n## %s\n\n```text\n%s\n```\n", c.CommandPath(), strings.TrimRight(text.String(), "\n"))
		for _, below := range c.Commands() {
			add(below)
		}
	}
	add(cli.Tree("development"))
	return page.String()
}
