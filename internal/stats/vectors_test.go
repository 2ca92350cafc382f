package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/testing/needs"
)

// number is a JSON number, or "inf" or "-inf".
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	v, err := strconv.ParseFloat(text, 64)
	*n = number(v)
	return err
}

type vectors struct {
	Cases []struct {
		Name     string    `json:"name"`
		Base     []float64 `json:"base"`
		Env      []float64 `json:"env"`
		D        []number  `json:"d"`
		N        int       `json:"n"`
		T95      [3]number `json:"t95"`
		HL95     [3]number `json:"hl95"`
		HLm1     [3]number `json:"hl_alpha_m1"`
		HLEqM1   [3]number `json:"hl_alpha_eq_m1"`
		HLm4     [3]number `json:"hl_alpha_m4"`
		Pct      [3]number `json:"pct_hl95"`
		P        *number   `json:"signed_rank_p_mu0"`
		Mixt     [3]number `json:"mixt_cs_g1"`
		MixtLogE number    `json:"mixt_log_e_g1_mu0"`
		Asymp    [3]number `json:"asymp_cs_tstar20"`
		LogE     number    `json:"sr_log_e_mu0"`
		LogEOne  number    `json:"sr_log_e_onesided+_mu0"`
	} `json:"cases"`
	SignedRank map[int]struct {
		K05   int      `json:"k_05"`
		Km1   int      `json:"k_alpha_m1"`
		KEqM1 int      `json:"k_alpha_eq_m1"`
		Km4   int      `json:"k_alpha_m4"`
		CDF   []number `json:"cdf_first5"`
	} `json:"signed_rank"`
	Multipliers map[int]struct {
		T     number `json:"t_975"`
		G1    number `json:"mixt_g1"`
		G3    number `json:"mixt_g3"`
		Asymp number `json:"asymp_t20"`
	} `json:"multipliers"`
	Rho       map[string]number   `json:"asymp_rho"`
	Spending  map[string][]number `json:"gs_nominal_p"`
	Constants struct {
		Star map[int]number `json:"ALPHA_STAR"`
		Eq   map[int]number `json:"ALPHA_EQ"`
	} `json:"constants"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func near(t *testing.T, what string, got float64, want number) {
	t.Helper()
	w := float64(want)
	if got == w || math.Abs(got-w) <= 1e-6*math.Abs(w) {
		return
	}
	t.Errorf("%s = %.12g, the reference says %.12g", what, got, w)
}

// nearInterval compares with an interval of the reference. Where the signed-rank
// interval is unbounded, the reference has none, and this package the extended range.
func nearInterval(t *testing.T, what string, got Interval, want [3]number, n int) {
	t.Helper()
	near(t, what+" estimate", got.Estimate, want[0])
	if math.IsInf(float64(want[1]), 0) && n >= LeastBlocks {
		if !got.Bounded() || got.Low > got.Estimate || got.High < got.Estimate {
			t.Errorf("%s = %+v of %d differences", what, got, n)
		}
		return
	}
	near(t, what+" low", got.Low, want[1])
	near(t, what+" high", got.High, want[2])
}

func TestCasesAgreeWithTheReference(t *testing.T) {
	v := readVectors(t)
	// Levels of the reference.
	alpha := func(m int) (alpha, alphaEq float64) { return float64(v.Constants.Star[m]), float64(v.Constants.Eq[m]) }
	m1, eq1 := alpha(1)
	m4, _ := alpha(4)
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			d := make([]float64, c.N)
			for i := range d {
				d[i] = math.Log(c.Env[i]) - math.Log(c.Base[i])
				if c.D[i] != 0 {
					near(t, fmt.Sprintf("d[%d]", i), d[i], c.D[i])
				}
			}
			hl := HodgesLehmann(d, .05)
			nearInterval(t, "Student", T(d, .05), c.T95, len(d))
			nearInterval(t, "95%", hl, c.HL95, len(d))
			nearInterval(t, "alpha, m=1", HodgesLehmann(d, m1), c.HLm1, len(d))
			nearInterval(t, "alpha_eq, m=1", HodgesLehmann(d, eq1), c.HLEqM1, len(d))
			nearInterval(t, "alpha, m=4", HodgesLehmann(d, m4), c.HLm4, len(d))
			percent := func(x float64) float64 { return 100 * math.Expm1(x) }
			near(t, "per cent", percent(hl.Estimate), c.Pct[0])
			if SignedRankK(len(d), .05) > 0 {
				near(t, "low, per cent", percent(hl.Low), c.Pct[1])
				near(t, "high, per cent", percent(hl.High), c.Pct[2])
			}
			if c.P != nil {
				near(t, "p", SignedRankP(d, 0), *c.P)
			}
			nearInterval(t, "mixture t", MixtureT(d, .05, 1), c.Mixt, len(d))
			near(t, "mixture t log e", MixtureTLogE(d, 0, 1), c.MixtLogE)
			nearInterval(t, "asymptotic", Asymptotic(d, .05, 20), c.Asymp, len(d))
			near(t, "log e", evidence(d, 0).LogEither(), c.LogE)
			near(t, "one-sided log e", evidence(d, 0).LogAbove(), c.LogEOne)
		})
	}
}

func TestSignedRankTablesAgreeWithTheReference(t *testing.T) {
	v := readVectors(t)
	m1, eq1, m4 := float64(v.Constants.Star[1]), float64(v.Constants.Eq[1]), float64(v.Constants.Star[4])
	for n, want := range v.SignedRank {
		got := [4]int{SignedRankK(n, .05), SignedRankK(n, m1), SignedRankK(n, eq1), SignedRankK(n, m4)}
		if got != [4]int{want.K05, want.Km1, want.KEqM1, want.Km4} {
			t.Errorf("n=%d: k = %v, the reference says %+v", n, got, want)
		}
		for w, p := range want.CDF {
			near(t, fmt.Sprintf("n=%d: P(W+ <= %d)", n, w), SignedRankCDF(n)[w], p)
		}
	}
}

func TestMultipliersAgreeWithTheReference(t *testing.T) {
	v := readVectors(t)
	for n, want := range v.Multipliers {
		near(t, "Student", TMultiplier(n, .05), want.T)
		near(t, "mixture, g=1", MixtureTMultiplier(n, .05, 1), want.G1)
		near(t, "mixture, g=3", MixtureTMultiplier(n, .05, 3), want.G3)
		near(t, "asymptotic", AsymptoticMultiplier(n, .05, AsymptoticRho(20, .05)), want.Asymp)
	}
	near(t, "rho", AsymptoticRho(20, .05), v.Rho["t20_a05"])
	near(t, "rho", AsymptoticRho(60, .05), v.Rho["t60_a05"])
	near(t, "rho", AsymptoticRho(20, .0125), v.Rho["t20_a0125"])
}

func TestSpendingAgreesWithTheReference(t *testing.T) {
	needs.Minutes(t, "it integrates over grids, for functions that no verdict uses")
	v := readVectors(t)
	five := []int{1, 2, 3, 4, 5}
	for name, spend := range map[string]func(t, alpha float64) float64{"OBF": SpendOBrienFleming, "Pocock": SpendPocock} {
		for i, p := range SpendingLevels(five, func(t float64) float64 { return spend(t, .05) }) {
			near(t, name, p, v.Spending[name+"_5looks"][i])
			z := -distuv.UnitNormal.Quantile(p / 2)
			if want := float64(v.Spending["published_z_"+name][i]); math.Abs(z-want) > 2e-3*want {
				t.Errorf("%s, look %d: z = %.4f, published is %.4f", name, i+1, z, want)
			}
		}
	}
}
