package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/base/term"
	"tare/internal/papers/published"
)

func newPublishedCommand(app *App) *cobra.Command {
	var asJSON, claimsOnly bool
	command := &cobra.Command{
		Use:   "published [STUDY]",
		Short: "Show published studies, with their claims and scores recomputed",
		Long: `List the published studies whose results tare has as data, or show one: its tables,
and its claims and scores recomputed from the published numbers, with those that do
not hold and by how much. Claims that do not hold do not change the exit status.`,
		Example: `  tare published
  tare published karna-2021 --claims`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPublished(app, asJSON)
			}
			study, err := published.Builtin(args[0])
			if err != nil {
				return badInput("%w", err)
			}
			result := study.Recompute()
			switch {
			case asJSON && claimsOnly:
				return printJSON(app.Stdout, result.Claims)
			case asJSON:
				return printJSON(app.Stdout, result)
			}
			return published.Text(app.Stdout, result, terminalOptions(app.Stdout, false).Width, claimsOnly)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	command.Flags().BoolVar(&claimsOnly, "claims", false, "show only claims and scores, without the tables")
	return command
}

func listPublished(app *App, asJSON bool) error {
	list, err := published.List()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(app.Stdout, list)
	}
	rows := [][]string{{"STUDY", "CLAIMS", "DO NOT HOLD", ""}}
	for _, l := range list {
		rows = append(rows, []string{l.Name, fmt.Sprint(l.Claims()), fmt.Sprint(l.Count[published.Fails]), l.About})
	}
	term.Table(app.Stdout, terminalOptions(app.Stdout, false).Width, rows)
	return nil
}
