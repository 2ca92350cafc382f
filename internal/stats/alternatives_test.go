package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The methods of this file were compared with the procedure and are not used
// for verdicts: intervals that assume normal differences, asymptotic confidence
// sequences, and alpha-spending functions. The comparison can be repeated with
// them.

// T is the mean with Student's interval (Student, The probable error of a mean,
// 1908).
func T(d []float64, alpha float64) Interval {
	return around(d, TMultiplier(len(d), alpha))
}

// TMultiplier is the half-width of Student's interval in standard errors.
func TMultiplier(n int, alpha float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - alpha/2)
}

// MixtureT is the anytime-valid t confidence sequence with a normal mixture of
// variance g over the standardised effect (Lai, On confidence sequences, 1976):
// exact for normal differences.
func MixtureT(d []float64, alpha, g float64) Interval {
	return around(d, MixtureTMultiplier(len(d), alpha, g))
}

// MixtureTMultiplier is its half-width in standard errors.
func MixtureTMultiplier(n int, alpha, g float64) float64 {
	f := float64(n)
	k := math.Pow((1+f*g)/(alpha*alpha), 1/f)
	denominator := 1 - k/(1+f*g)
	if denominator <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt((f - 1) * (k - 1) / denominator)
}

// MixtureTLogE is the log of its e-process against the mean centre.
func MixtureTLogE(d []float64, centre, g float64) float64 {
	n := float64(len(d))
	mean, variance := stat.MeanVariance(d, nil)
	t2 := n * (mean - centre) * (mean - centre) / variance
	return -.5*math.Log1p(n*g) + .5*n*(math.Log1p(t2/(n-1))-math.Log1p(t2/((n-1)*(1+n*g))))
}

// Asymptotic is the asymptotic confidence sequence of Waudby-Smith and others
// (Time-uniform central limit theory and asymptotic confidence sequences, 2024),
// tightest near n = target.
func Asymptotic(d []float64, alpha float64, target int) Interval {
	return around(d, AsymptoticMultiplier(len(d), alpha, AsymptoticRho(target, alpha)))
}

// AsymptoticRho is its parameter for a sequence that is tightest near target.
func AsymptoticRho(target int, alpha float64) float64 {
	l := -2 * math.Log(alpha)
	return math.Sqrt((l + math.Log(l) + 1) / float64(target))
}

// AsymptoticMultiplier is its half-width in standard errors.
func AsymptoticMultiplier(n int, alpha, rho float64) float64 {
	v := float64(n) * rho * rho
	return math.Sqrt(2 * (v + 1) / v * math.Log(math.Sqrt(v+1)/alpha))
}

func around(d []float64, multiplier float64) Interval {
	mean, sd := stat.MeanStdDev(d, nil)
	h := multiplier * sd / math.Sqrt(float64(len(d)))
	return Interval{mean, mean - h, mean + h}
}

// SpendOBrienFleming is the alpha-spending function of Lan and DeMets (Discrete
// sequential boundaries for clinical trials, 1983) that resembles the boundary
// of O'Brien and Fleming: the error that has been spent at the information
// fraction t.
func SpendOBrienFleming(t, alpha float64) float64 {
	return 4 * normalCDF(distuv.UnitNormal.Quantile(alpha/4)/math.Sqrt(t))
}

// SpendPocock is theirs that resembles the boundary of Pocock, which spends
// almost evenly.
func SpendPocock(t, alpha float64) float64 {
	return alpha * math.Log1p((math.E-1)*math.Min(t, 1))
}

// SpendingLevels are the nominal two-sided levels at interim analyses that spend
// the error as spend does, for normal differences, by the recursion of Armitage,
// McPherson and Rowe (Repeated significance tests on accumulating data, 1969) on
// a grid.
func SpendingLevels(looks []int, spend func(t float64) float64) []float64 {
	const points = 2001
	var grid, density, levels []float64
	used, before := 0.0, 0.0
	for _, look := range looks {
		n := float64(look)
		all := spend(n / float64(looks[len(looks)-1]))
		now := all - used
		used = all
		bound, sd := 0.0, math.Sqrt(n-before)
		if grid == nil {
			bound = -distuv.UnitNormal.Quantile(now/2) * math.Sqrt(n)
		} else {
			// The mass beyond the bound falls as the bound rises.
			low, high := 0.0, 12*math.Sqrt(n)
			for range 60 {
				bound = (low + high) / 2
				mass := 0.0
				for i, x := range grid {
					mass += density[i] * normalCDF((x-bound)/sd)
				}
				if 2*mass > now {
					low = bound
				} else {
					high = bound
				}
			}
		}
		levels = append(levels, 2*normalCDF(-bound/math.Sqrt(n)))
		// Only paths inside the bound continue. density includes the weights of
		// the trapezoidal rule.
		step := 2 * bound / (points - 1)
		next, weights := make([]float64, points), make([]float64, points)
		for j := range next {
			y := -bound + float64(j)*step
			next[j] = y
			if grid == nil {
				weights[j] = distuv.UnitNormal.Prob(y/math.Sqrt(n)) / math.Sqrt(n)
			} else {
				for i, x := range grid {
					weights[j] += distuv.UnitNormal.Prob((y-x)/sd) / sd * density[i]
				}
			}
			weights[j] *= step
		}
		weights[0] /= 2
		weights[points-1] /= 2
		grid, density, before = next, weights, n
	}
	return levels
}
