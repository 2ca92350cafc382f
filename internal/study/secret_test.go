package study

import (
	"strings"
	"testing"
)

func TestASecretSaysWhereItsValueIs(t *testing.T) {
	const rest = "\nenvironments: {native: {}}\nworkloads: [{use: redis}]"
	p, err := resolveText(t, "study: x\nsecret:\n  TOKEN: {env: CI_TOKEN}\n  KEY: {file: ./sub/key, as: file, user: mysql}"+rest, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Secret) != 2 || p.Secret[0].Name != "KEY" || !strings.HasPrefix(p.Secret[0].File, "/") || !strings.HasSuffix(p.Secret[0].File, "/sub/key") || p.Secret[0].User != "mysql" || p.Secret[1].Env != "CI_TOKEN" {
		t.Errorf("%+v", p.Secret)
	}
	for text, want := range map[string]string{
		"{A: hunter2hunter2}":              "secret A: write where its value is, {file: PATH} or {env: VARIABLE}, not the value",
		"{A: {}}":                          "secret A: needs either file, a file with the value, or env, an environment variable of tare's",
		"{A: {file: x, env: Y}}":           "secret A: needs either",
		"{A-B: {env: Y}}":                  `"A-B" is not a valid name of an environment variable`,
		"{A: {env: Y-Z}}":                  `env: "Y-Z" is not a valid name`,
		"{A: {env: Y, as: pipe}}":          `as: "pipe" is not known: choose variable or file`,
		"{A: {env: Y, user: mysql}}":       "user: owns the file of a secret, which needs as: file",
		"{A: {value: hunter2hunter2hunt}}": `unknown key "value"`,
	} {
		_, err := resolveText(t, "study: x\nsecret: "+text+rest, Overrides{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the message repeats the value: %v", err)
		}
	}
}
