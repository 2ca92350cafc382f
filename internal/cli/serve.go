package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/base/bounded"
	"tare/internal/run"
	"tare/internal/serve"
	"tare/internal/serve/index"
)

func newServeCommand(app *App) *cobra.Command {
	address := "127.0.0.1:8090"
	var tokenFile string
	var again bool
	command := &cobra.Command{
		Use:   "serve [DIRECTORY...]",
		Short: "Show runs in a browser",
		Long: `Show the runs of the home in a browser, and those of the directories: each has runs,
or is one. The pages list and search runs, show their reports, follow those that are
under way, compare two, and show how a contrast changed over runs.

The pages only show: nothing can be started or changed. On another address than
loopback, a browser needs a token: that of --token-file, or a new one, which is printed.`,
		Example: `  tare serve
  tare serve ./results --listen 127.0.0.1:0
  tare serve --listen 192.0.2.7:8090 --token-file ~/.tare-token`,
		RunE: func(command *cobra.Command, args []string) error {
			for _, directory := range args {
				if info, err := os.Stat(directory); err != nil {
					return badInput("cannot show the runs of %s: %w", directory, bounded.Cause(err))
				} else if !info.IsDir() {
					return badInput("cannot show the runs of %s: it is not a directory; `tare report FILE --out -` makes the report of an archive", directory)
				}
			}
			token, err := serveToken(tokenFile, address)
			if err != nil {
				return err
			}
			server, err := serve.Listen(serve.Options{Address: address, Token: token, Version: app.Version, Explained: app.explained, Log: func(text string) { app.say("tare: %s", text) }})
			if err != nil {
				return badInput("--listen: %w", err)
			}
			runs, err := openIndex(app, again, append([]string{run.Runs(app.Home)}, args...))
			if err != nil {
				return errors.Join(err, server.Close())
			}
			if err := runs.Refresh(command.Context()); err != nil {
				return errors.Join(err, server.Close())
			}
			server.Begin(runs)
			app.tellAddress(server.URL(), token, tokenFile)
			<-command.Context().Done()
			return server.Close()
		},
	}
	flags := command.Flags()
	flags.Var((*listenAddress)(&address), "listen", "`address` to listen on")
	flags.StringVar(&tokenFile, "token-file", "", "`file` with the token that a browser needs, also on loopback (default: on other addresses, a new one)")
	flags.BoolVar(&again, "reindex", false, "build the index of the runs again")
	return command
}

// tellAddress says what a browser opens. A token that the user gave is not printed:
// outputs are kept in logs.
func (a *App) tellAddress(url, token, file string) {
	end := "Ctrl-C ends it"
	switch {
	case file != "":
		end = fmt.Sprintf("with ?token= and the token of %s at the end; ", file) + end
	case token != "":
		url += "?token=" + token
	}
	fmt.Fprintf(a.Stdout, "runs: %s (%s)\n", url, end)
}

// serveToken is the token of a file, or a new one where other machines can come.
func serveToken(file, address string) (string, error) {
	if file == "" {
		if serve.Loopback(address) {
			return "", nil
		}
		return serve.NewToken(), nil
	}
	text, err := bounded.ReadFile(file, 4096)
	if err != nil {
		return "", badInput("read the token: %w", err)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return "", badInput("--token-file %s: other users of this machine may open it (mode %04o): `chmod 600 %[1]s`, and take another token if they could read it", file, info.Mode().Perm())
	}
	token := strings.TrimSpace(string(text))
	if err := serve.CheckToken(token); err != nil {
		return "", badInput("--token-file %s: %w", file, err)
	}
	return token, nil
}

// openIndex opens the index of the home; where it cannot be written, one in memory.
func openIndex(app *App, again bool, roots []string) (*index.Index, error) {
	runs, err := index.Open(filepath.Join(app.Home, "index", "runs.json"), app.Version, again, roots...)
	if err == nil {
		return runs, nil
	}
	app.say("tare: %v; the index is kept in memory", err)
	runs, failed := index.Open("", app.Version, false, roots...)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	return runs, nil
}
