package cleanup

import "sync"

// OncePerHome caches the path that make returns for a home, so that it is made
// once per process. After an error it is tried again.
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
