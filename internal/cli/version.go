package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"tare/internal/base/term"
)

// Build is what the program was built from. The zero value is a build that did not say.
type Build struct {
	Commit string // the source's, in hexadecimal digits; with -dirty where files were changed
	Date   string // of the commit, in RFC 3339: the same source gives the same program
}

func newVersionCommand(app *App) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "version",
		Short: "Show the version, and what the program was built from",
		Long: `Show the version of tare, the commit that it was built from with its date, the
version of Go that built it, and its platform. ` + "`tare --version`" + ` prints the
first line alone.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version  string `json:"version"`
				Commit   string `json:"commit"`
				Date     string `json:"date"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{app.Version, app.Build.Commit, app.Build.Date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if asJSON {
				return printJSON(app.Stdout, v)
			}
			fmt.Fprintf(app.Stdout, "tare version %s\n", v.Version)
			term.Table(app.Stdout, term.DefaultWidth, [][]string{
				{"commit", known(v.Commit)}, {"date", known(v.Date)}, {"go", v.Go}, {"platform", v.Platform},
			})
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return command
}

func known(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
