package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// cookie has the token of a browser that came with it once.
const cookie = "tare-token"

// NewToken returns a token that nobody guesses.
func NewToken() string { return rand.Text() }

// guard lets only requests through that read, that name this server, and that have the
// token if there is one.
type guard struct {
	host  string // of the address that was asked for, which may be a name
	token string // "" for none
	next  http.Handler
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", ownPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "tare serve only shows runs: it answers GET and HEAD", http.StatusMethodNotAllowed)
	case !g.named(r.Host):
		http.Error(w, "this server does not go by that name: use its address, localhost, or the name that --listen has", http.StatusMisdirectedRequest)
	case g.token == "":
		g.next.ServeHTTP(w, r)
	default:
		g.admit(w, r)
	}
}

// named reports whether a Host header is one of this server. The page of another site
// reaches this server under a name of its own that it makes resolve to this address (DNS
// rebinding); it cannot do so under an address or localhost.
func (g *guard) named(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || g.host != "" && strings.EqualFold(name, g.host)
}

// admit asks for the token: in the cookie, as a bearer, or in the address, from which it
// goes into the cookie.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) {
	if given := r.URL.Query().Get("token"); given != "" && g.right(given) {
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: given, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		query := r.URL.Query()
		query.Del("token")
		// A path that begins with two slashes would be another host.
		to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, `/\`), RawQuery: query.Encode()}
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
		return
	}
	bearer, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	kept, err := r.Cookie(cookie)
	if is && g.right(bearer) || err == nil && g.right(kept.Value) {
		g.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="tare"`)
	http.Error(w, "this server needs its token: open its address with ?token=TOKEN at the end, or send the header Authorization: Bearer TOKEN", http.StatusUnauthorized)
}

// right compares in a time that does not depend on the token.
func (g *guard) right(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// CheckToken refuses a token that is easily guessed, or that a header cannot have.
func CheckToken(token string) error {
	if len(token) < 16 {
		return errors.New("a token has at least 16 characters")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return !strings.ContainsRune(tokenCharacters, r) }) {
		return errors.New("a token has letters, digits, - and _ only")
	}
	return nil
}

const tokenCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
