package searchpath

import "testing"

func TestThePathOfALoginGetsTheDirectoriesOfTheSystem(t *testing.T) {
	for was, want := range map[string]string{
		"/usr/local/bin:/usr/bin:/bin:/usr/games":                      "/usr/local/bin:/usr/bin:/bin:/usr/games:/usr/local/sbin:/usr/sbin:/sbin",
		"/home/me/bin:/bin":                                            "/home/me/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin",
		"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"/opt/only/these":                                              "/opt/only/these",
		"":                                                             "",
	} {
		if got := completed(was); got != want {
			t.Errorf("%q becomes %q, not %q", was, got, want)
		}
	}
}
