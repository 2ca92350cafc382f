package try

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/application/secret"
	"tare/internal/image"
)

// command is what is started: that of the image, with the user's arguments if there are
// some.
func (o Options) command(img *image.Image) []string {
	if len(o.Arguments) > 0 {
		return slices.Concat(img.Config.Entrypoint, o.Arguments)
	}
	return img.Config.Command()
}

// secretMark begins the value of a variable that is a secret, before its name. No variable
// can have a zero byte.
const secretMark = "\x00"

// variables are those of the image with what the user added.
func (o Options) variables(img *image.Image) map[string]string {
	vars := Variables(slices.Concat(img.Env, o.Env))
	for _, s := range o.Secrets {
		vars[s.Name] = secretMark + s.Name
	}
	return vars
}

// Variables are NAME=VALUE texts as a map, in which the last value of a name counts.
func Variables(list []string) map[string]string {
	vars := map[string]string{}
	for _, e := range list {
		name, value, _ := strings.Cut(e, "=")
		vars[name] = value
	}
	return vars
}

// first is the value of the first variable that has one.
func first(vars map[string]string, names ...string) string {
	for _, name := range names {
		if vars[name] != "" {
			return vars[name]
		}
	}
	return ""
}

// PostgresLogin is that of the official image.
func PostgresLogin(vars map[string]string) (user, database, password string) {
	user = cmp.Or(first(vars, "POSTGRES_USER", "PGUSER"), "postgres")
	return user, cmp.Or(first(vars, "POSTGRES_DB", "PGDATABASE"), user), first(vars, "POSTGRES_PASSWORD", "PGPASSWORD")
}

// MySQLLogin is that of the official images; "" is what the variables do not say.
func MySQLLogin(vars map[string]string) (user, database, password string) {
	user = first(vars, "MYSQL_USER", "MARIADB_USER")
	password = first(vars, "MYSQL_PASSWORD", "MARIADB_PASSWORD")
	if root := first(vars, "MYSQL_ROOT_PASSWORD", "MARIADB_ROOT_PASSWORD"); user == "" && root != "" {
		user, password = "root", root
	}
	return user, first(vars, "MYSQL_DATABASE", "MARIADB_DATABASE"), password
}

// mysql chooses the user as the official images do.
func (o Options) mysql(g *guesses, img *image.Image) error {
	user, database, password := MySQLLogin(o.variables(img))
	if user != "" && database == "" {
		return fmt.Errorf("the load needs a database in which %s may make tables: name one with --env-var MYSQL_DATABASE=NAME, which official images make at their first start", user)
	}
	if user == "" {
		user, database = "tare", "sbtest"
	}
	o.login(g, user, database, "MYSQL_PWD", password, "--env-var MYSQL_USER=..., MYSQL_PASSWORD=..., MYSQL_DATABASE=...")
	return nil
}

// login gives a load user, database and password: its own variable gets the value of the
// image's.
func (o Options) login(g *guesses, user, database, variable, password, flags string) {
	g.parameters = map[string]string{"user": user, "database": database}
	how := "without a password"
	if password != "" {
		how = "with the password of the variables"
		o.pass(g, variable, password)
	}
	g.add(fmt.Sprintf("user %s, database %s, %s", user, database, how), "from the variables of the image, or what is usual", flags)
}

// pass gives the load a variable with a value of variables, which may be a secret.
func (o Options) pass(g *guesses, variable, value string) {
	name, hidden := strings.CutPrefix(value, secretMark)
	switch {
	case !hidden:
		g.env = map[string]string{variable: value}
	case name != variable:
		i := slices.IndexFunc(o.Secrets, func(s secret.Source) bool { return s.Name == name })
		copied := o.Secrets[i]
		copied.Name = variable
		g.secrets = append(g.secrets, copied)
	}
}

// The variables with the password of Redis, that of the load first.
var redisPasswords = []string{redisPassword, "REDIS_PASSWORD"}

const redisPassword = "REDISCLI_AUTH"

// redis finds the password of the server.
func (o Options) redis(g *guesses, img *image.Image) {
	const flag = "--env-var REDISCLI_AUTH=..."
	if password := first(o.variables(img), redisPasswords...); password != "" {
		o.pass(g, redisPassword, password)
		g.add("the password of the variables", "Redis has one", flag)
	} else if password = requiredPassword(o.command(img)); password != "" {
		o.pass(g, redisPassword, password)
		g.add("the password of --requirepass", "the command of the image has it", flag)
	}
}

// requiredPassword is the one that a command of redis-server has.
func requiredPassword(command []string) string {
	if i := slices.Index(command, "--requirepass"); i >= 0 && i+1 < len(command) {
		return command[i+1]
	}
	return ""
}
