package cleanup

import "sync"

// OncePerHome keeps what was made below a home, so that one start pays for it. What
// failed is tried again.
func OncePerHome(make func(home string) (string, error)) func(home string) (string, error) {
	var mu sync.Mutex
	known := map[string]string{}
	return func(home string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if path, ok := known[home]; ok {
			return path, nil
		}
		path, err := make(home)
		if err == nil {
			known[home] = path
		}
		return path, err
	}
}
