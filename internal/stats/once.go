package stats

import "sync"

// once computes a value once for each key. The values are shared: do not modify them.
type once[K comparable, V any] struct {
	compute func(K) V
	known   sync.Map
}

func (o *once[K, V]) of(key K) V {
	if value, has := o.known.Load(key); has {
		return value.(V)
	}
	value := o.compute(key)
	o.known.Store(key, value)
	return value
}
