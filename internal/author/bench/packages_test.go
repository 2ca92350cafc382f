package bench

import "testing"

func TestAnInterpreterComesWithItsWholeLibrary(t *testing.T) {
	for owner, want := range map[string]string{
		"python3-minimal: /usr/bin/python3":           "python3",
		"python3.13-minimal: /usr/bin/python3.13":     "python3.13",
		"perl-base: /usr/bin/perl":                    "perl",
		"gzip: /usr/bin/gzip":                         "gzip",
		"vim-minimal:amd64: /usr/bin/vim":             "vim-minimal",
		"diversion by dash from: /bin/sh\ndash: /bin": "dash",
	} {
		if got := whole(ownerIn(owner)); got != want {
			t.Errorf("%s: %s", owner, got)
		}
	}
}
