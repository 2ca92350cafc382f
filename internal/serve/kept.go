package serve

import "sync"

// kept holds the last pages that took long to make.
type kept struct {
	mu    sync.Mutex // also while a page is made: two clients do not make the same one
	pages []keptPage
}

type keptPage struct {
	id, stamp string
	text      []byte
}

// mostKept is how many pages are held; one may have megabytes.
const mostKept = 4

// get returns the page of a run with a stamp, or makes it.
func (k *kept) get(id, stamp string, make func() ([]byte, error)) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pages {
		if p.id == id && p.stamp == stamp {
			return p.text, nil
		}
	}
	text, err := make()
	if err != nil {
		return nil, err
	}
	held := []keptPage{{id, stamp, text}}
	for _, p := range k.pages {
		if p.id != id && len(held) < mostKept {
			held = append(held, p)
		}
	}
	k.pages = held
	return text, nil
}
