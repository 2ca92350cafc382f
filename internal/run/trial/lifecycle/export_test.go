package lifecycle

// NeighbourFailure is the error of the neighbour that failed first.
func (w *Workload) NeighbourFailure() error { return w.neighbours.failure() }
