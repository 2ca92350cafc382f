package model

// Reference is a source to cite. Fields that its kind does not have are empty.
type Reference struct {
	Key            string
	Software       bool
	Authors        []Author
	Title, Journal string
	Volume, Number string
	Pages          string
	Year           string
	DOI            string
	Version        string
}

// Author is a person; with a family name alone, a group.
type Author struct{ Family, Given string }

var (
	hodgesLehmann = Reference{Key: "HodgesLehmann1963", Authors: []Author{{"Hodges", "J. L."}, {"Lehmann", "E. L."}}, Title: "Estimates of Location Based on Rank Tests",
		Journal: "The Annals of Mathematical Statistics", Volume: "34", Number: "2", Pages: "598-611", Year: "1963", DOI: "10.1214/aoms/1177704172"}
	wilcoxon = Reference{Key: "Wilcoxon1945", Authors: []Author{{"Wilcoxon", "Frank"}}, Title: "Individual Comparisons by Ranking Methods",
		Journal: "Biometrics Bulletin", Volume: "1", Number: "6", Pages: "80-83", Year: "1945", DOI: "10.2307/3001968"}
	mannWhitney = Reference{Key: "MannWhitney1947", Authors: []Author{{"Mann", "H. B."}, {"Whitney", "D. R."}}, Title: "On a Test of Whether One of Two Random Variables Is Stochastically Larger than the Other",
		Journal: "The Annals of Mathematical Statistics", Volume: "18", Number: "1", Pages: "50-60", Year: "1947", DOI: "10.1214/aoms/1177730491"}
	pocock = Reference{Key: "Pocock1977", Authors: []Author{{"Pocock", "Stuart J."}}, Title: "Group Sequential Methods in the Design and Analysis of Clinical Trials",
		Journal: "Biometrika", Volume: "64", Number: "2", Pages: "191-199", Year: "1977", DOI: "10.1093/biomet/64.2.191"}
	dunn = Reference{Key: "Dunn1961", Authors: []Author{{"Dunn", "Olive Jean"}}, Title: "Multiple Comparisons Among Means",
		Journal: "Journal of the American Statistical Association", Volume: "56", Number: "293", Pages: "52-64", Year: "1961", DOI: "10.1080/01621459.1961.10482090"}
	schuirmann = Reference{Key: "Schuirmann1987", Authors: []Author{{"Schuirmann", "Donald J."}}, Title: "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing the Equivalence of Average Bioavailability",
		Journal: "Journal of Pharmacokinetics and Biopharmaceutics", Volume: "15", Number: "6", Pages: "657-680", Year: "1987", DOI: "10.1007/BF01068419"}
	reynolds = Reference{Key: "Reynolds1975", Authors: []Author{{"Reynolds", "Marion R."}}, Title: "A Sequential Signed-Rank Test for Symmetry",
		Journal: "The Annals of Statistics", Volume: "3", Pages: "382-400", Year: "1975", DOI: "10.1214/aos/1176343064"}
	lanke   = Reference{Key: "Lanke1974", Authors: []Author{{"Lanke", "Jan"}}, Title: "Interval Estimation of a Median", Journal: "Scandinavian Journal of Statistics", Volume: "1", Year: "1974"}
	robbins = Reference{Key: "Robbins1970", Authors: []Author{{"Robbins", "Herbert"}}, Title: "Statistical Methods Related to the Law of the Iterated Logarithm",
		Journal: "The Annals of Mathematical Statistics", Volume: "41", Number: "5", Pages: "1397-1409", Year: "1970", DOI: "10.1214/aoms/1177696786"}
	kruskalWallis = Reference{Key: "KruskalWallis1952", Authors: []Author{{"Kruskal", "William H."}, {"Wallis", "W. Allen"}}, Title: "Use of Ranks in One-Criterion Variance Analysis",
		Journal: "Journal of the American Statistical Association", Volume: "47", Number: "260", Pages: "583-621", Year: "1952", DOI: "10.1080/01621459.1952.10483441"}
	pauleMandel = Reference{Key: "PauleMandel1982", Authors: []Author{{"Paule", "Robert C."}, {"Mandel", "John"}}, Title: "Consensus Values and Weighting Factors",
		Journal: "Journal of Research of the National Bureau of Standards", Volume: "87", Number: "5", Pages: "377-385", Year: "1982", DOI: "10.6028/jres.087.022"}
)

// software is tare, in the version that made the run. When that was released is not
// recorded.
func (v *Report) software() Reference {
	return Reference{Key: "tare", Software: true, Authors: []Author{{Family: "The tare authors"}}, Title: "tare: what an isolation layer costs a workload", Version: v.Manifest.Tare}
}
