package stats

// Location is what one block says about a difference, from the differences of its
// rounds: the Hodges-Lehmann estimator; NaN of none. Rounds are not independent,
// so they give a value and no interval. docs/statistics.md compares it with others on
// recorded samples.
func Location(rounds []float64) float64 { return NewWalsh(rounds).Median() }
