package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/published"
)

func newPublishedCommand(app *App) *cobra.Command {
	var asJSON, claimsOnly bool
	command := &cobra.Command{
		Use:   "published [STUDY]",
		Short: "Show what a published study printed, with its claims and scores recomputed",
		Long: `List the published studies whose printed results tare holds as data, or show one:
its tables, its claims and its scores, each recomputed from the printed figures,
with those that do not hold and by how much. The exit status is 0 in any case.`,
		Example: `  tare published
  tare published karna-2021 --claims`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(published.Names(), cobra.ShellCompDirectiveNoFileComp),
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
	command.Flags().BoolVar(&claimsOnly, "claims", false, "the claims and scores without the tables")
	return command
}

// publishedEntry is a study in the list.
type publishedEntry struct {
	entry
	Count map[published.Outcome]int `json:"claims"`
}

func listPublished(app *App, asJSON bool) error {
	list := []publishedEntry{}
	rows := [][]string{{"STUDY", "CLAIMS", "DO NOT HOLD", ""}}
	for _, name := range published.Names() {
		study, err := published.Builtin(name)
		if err != nil {
			return err
		}
		result := study.Recompute()
		list = append(list, publishedEntry{entry{name, study.Source.Title}, result.Count})
		rows = append(rows, []string{name, fmt.Sprint(len(result.Claims)), fmt.Sprint(result.Count[published.Fails]), study.Source.Title})
	}
	if asJSON {
		return printJSON(app.Stdout, list)
	}
	table(app.Stdout, terminalOptions(app.Stdout, false).Width, rows)
	return nil
}
