package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Nodes compares the differences of blocks that ran on several nodes. All of it is
// read once, at the end, and no decision depends on it.
type Nodes struct {
	// Each has the estimate of each node. The intervals hold for all nodes together at
	// 95% (Bonferroni).
	Each []Interval
	// P is the probability of nodes that differ as much if they are equal in truth; 1
	// where there are too few blocks to tell.
	P float64
	// Spread is the standard deviation between the nodes, as a log ratio; NaN where
	// there are too few blocks or nodes.
	Spread float64
	// Mean is that of the nodes, each with the same weight apart from its noise, with
	// the interval for the mean of all nodes like these; unbounded below three nodes.
	Mean Interval
	// Differ are the nodes that differ from the others, by their index, rising.
	Differ []int
}

const (
	nodesLevel = .05
	// leastNodes is from how many nodes on a spread is estimated, if they have
	// LeastBlocks each on average, and one of them can differ from the others: of two,
	// either does.
	leastNodes = 3
	// permutations is how many random ones give a p-value, and mostPermuted of how many
	// values; of more its limit is used.
	permutations, mostPermuted = 1999, 1000
)

// CompareNodes compares the differences of the blocks of each node. Each node has at
// least one.
func CompareNodes(groups [][]float64) Nodes {
	k, all := len(groups), slices.Concat(groups...)
	v := Nodes{P: 1, Spread: math.NaN(), Mean: Interval{math.NaN(), math.Inf(-1), math.Inf(1)}}
	for _, d := range groups {
		v.Each = append(v.Each, HodgesLehmann(d, nodesLevel/float64(k)))
	}
	if k < 2 || len(all) < 2*k || len(all) < k+LeastBlocks {
		return v
	}
	v.P = EqualP(groups)
	if k < leastNodes || len(all) < k*LeastBlocks {
		return v
	}
	estimates, variances := make([]float64, k), make([]float64, k)
	scale := withinScale(groups, v.Each)
	for i, d := range groups {
		estimates[i], variances[i] = v.Each[i].Estimate, scale*scale/float64(len(d))
	}
	v.Spread, v.Mean = randomEffects(estimates, variances)
	v.Differ = different(groups)
	return v
}

// withinScale is the standard deviation, times the square root of n, of the
// Hodges-Lehmann estimate of n blocks of one node: from the length of the signed-rank
// interval of what the blocks differ by from the estimates of their nodes (Lehmann,
// Nonparametric confidence intervals for a shift parameter, 1963), corrected for one
// estimate a node (McKean and Sheather, Small sample properties of robust analyses of
// linear models based on R-estimates, 1991).
func withinScale(groups [][]float64, each []Interval) float64 {
	var rest []float64
	for i, d := range groups {
		for _, x := range d {
			rest = append(rest, x-each[i].Estimate)
		}
	}
	n := len(rest)
	w, k, level := NewWalsh(rest), SignedRankK(n, nodesLevel), nodesLevel/2
	if n <= exactUpTo {
		level = SignedRankCDF(n)[k-1] // what is attained
	}
	z := -math.Sqrt2 * math.Erfinv(2*level-1)
	return (w.At(w.Count()+1-k) - w.At(k)) / (2 * z) * math.Sqrt(float64(n)) * math.Sqrt(float64(n)/float64(n-len(groups)))
}

// randomEffects is the standard deviation between the true values of several
// estimates, and their mean with its 95% interval. The variance between them is the
// estimator of Paule and Mandel (Consensus values and weighting factors, 1982); the
// interval has Student's distribution (Hartung and Knapp, On tests of the overall
// treatment effect in meta-analysis with normally distributed responses, 2001), with a
// factor of at least 1 (Röver, Knapp and Friede, Hartung-Knapp-Sidik-Jonkman approach
// and its modification for random-effects meta-analysis with few studies, 2015). The
// factor of this estimator is 1 wherever it is above 0, so it does not appear here.
func randomEffects(estimates, variances []float64) (spread float64, mean Interval) {
	free := float64(len(estimates) - 1)
	at := func(between float64) (mean, weights, q float64) {
		for i, y := range estimates {
			w := 1 / (variances[i] + between)
			mean, weights = mean+w*y, weights+w
		}
		mean /= weights
		for i, y := range estimates {
			q += (y - mean) * (y - mean) / (variances[i] + between)
		}
		return mean, weights, q
	}
	middle, least, high := Median(estimates), 0.0, 0.0
	for _, y := range estimates { // at this variance the sum of squares is at most free
		high += (y - middle) * (y - middle) / free
	}
	if slices.Min(variances) <= 0 {
		if high == 0 {
			return 0, Interval{estimates[0], estimates[0], estimates[0]}
		}
		least = high * 1e-12
	}
	low := least
	if _, _, q := at(low); q <= free {
		high = low
	}
	for range 200 {
		middle := (low + high) / 2
		if _, _, q := at(middle); q > free {
			low = middle
		} else {
			high = middle
		}
	}
	center, weights, _ := at(high)
	half := distuv.StudentsT{Sigma: 1, Nu: free}.Quantile(1-nodesLevel/2) / math.Sqrt(weights)
	return math.Sqrt(high), Interval{center, center - half, center + half}
}

// EqualP is the p-value of the test of Kruskal and Wallis (Use of ranks in
// one-criterion variance analysis, 1952): the groups have the same distribution. It is
// that among random permutations, the observed one included, which makes it exact
// (Phipson and Smyth, Permutation p-values should never be zero, 2010); they are the
// same for the same sizes of groups. Of more than a thousand values the statistic is
// taken as distributed like chi-squared.
func EqualP(groups [][]float64) float64 {
	r, ties := rankedGroups(groups)
	var ranks []float64
	sizes := make([]int, len(groups))
	for i, own := range r {
		ranks, sizes[i] = append(ranks, own...), len(own)
	}
	n := float64(len(ranks))
	between := func(ranks []float64, sizes []int) (sum float64) {
		for _, size := range sizes {
			excess := 0.0
			for _, rank := range ranks[:size] {
				excess += rank - (n+1)/2
			}
			sum, ranks = sum+excess*excess/float64(size), ranks[size:]
		}
		return sum
	}
	seen := between(ranks, sizes)
	if len(ranks) > mostPermuted {
		variance := n * (n + 1) / 12 * (1 - ties/(n*n*n-n))
		if variance == 0 {
			return 1
		}
		return distuv.ChiSquared{K: float64(len(groups) - 1)}.Survival(seen / variance)
	}
	slices.Sort(ranks) // so that the names of the nodes make no difference
	slices.Sort(sizes)
	rng, extreme := rand.New(rand.NewPCG(uint64(len(groups)), uint64(len(ranks)))), 1
	for range permutations {
		rng.Shuffle(len(ranks), func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		if between(ranks, sizes) >= seen*(1-1e-9) {
			extreme++
		}
	}
	return float64(extreme) / (permutations + 1)
}

// rankedGroups replaces values by their ranks among all groups, equal ones by the mean
// of theirs. ties is the sum of t³-t over as many equal values each.
func rankedGroups(groups [][]float64) (ranks [][]float64, ties float64) {
	type place struct{ group, index int }
	var all []place
	for g, d := range groups {
		ranks = append(ranks, make([]float64, len(d)))
		for i := range d {
			all = append(all, place{g, i})
		}
	}
	value := func(p place) float64 { return groups[p.group][p.index] }
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(value(a), value(b)) })
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && value(all[j]) == value(all[i]) {
			j++
		}
		for _, p := range all[i:j] {
			ranks[p.group][p.index] = float64(i+j+1) / 2
		}
		equal := float64(j - i)
		ties += equal*equal*equal - equal
		i = j
	}
	return ranks, ties
}

// different are the groups that differ from the others, by their index: the one with
// the least p-value of the rank-sum test against all others, and those as far away as it,
// then the next one against those that are left, as long as the p-value is at most 5% divided by the number of
// groups (Holm, A simple sequentially rejective multiple test procedure, 1979). The
// last two are not told apart. Groups of fewer than four values are never named.
func different(groups [][]float64) (named []int) {
	left := make([]int, len(groups))
	for i := range left {
		left[i] = i
	}
	for len(left) >= leastNodes {
		subset := make([][]float64, len(left))
		total := 0
		for i, g := range left {
			subset[i] = groups[g]
			total += len(groups[g])
		}
		ranks, _ := rankedGroups(subset)
		least, farthest, at := 1.0, 0.0, []int(nil)
		for i, own := range ranks {
			n := len(own)
			if n < LeastBlocks || total-n < LeastBlocks {
				continue
			}
			u := -float64(n*(n+1)) / 2
			for _, rank := range own {
				u += rank
			}
			p, distance := rankSumP(n, total-n, u), math.Abs(u-float64(n*(total-n))/2)/float64(n*(total-n))
			switch {
			case p < least || p == least && distance > farthest:
				least, farthest, at = p, distance, []int{i}
			case p == least && distance == farthest:
				at = append(at, i)
			}
		}
		if len(at) == 0 || least > nodesLevel/float64(len(left)) {
			break
		}
		for _, i := range slices.Backward(at) {
			named = append(named, left[i])
			left = slices.Delete(left, i, i+1)
		}
	}
	slices.Sort(named)
	return named
}

// rankSumP is the two-sided p-value of the statistic u of Mann and Whitney.
func rankSumP(n, m int, u float64) float64 {
	u = math.Ceil(min(u, float64(n*m)-u)) // half pairs are ties
	if n*m > exactPairs {
		sd := math.Sqrt(float64(n*m) * float64(n+m+1) / 12)
		return min(1, 2*normalCDF((u+.5-float64(n*m)/2)/sd))
	}
	return min(1, 2*rankSumCDF(n, m)[int(u)])
}
