// Package published holds the printed results of studies as data: result tables,
// scores and claims, each claim with a check that is recomputed from the printed
// figures.
//
// It must not know runs: a report that compares a run with a study uses Ratios, and
// Replicate asks an Again for what was measured. It checks the arithmetic of a study, and
// its claims by such figures, and nothing else.
package published

// Study is one publication. File: published/NAME.yaml.
type Study struct {
	Study        string        `yaml:"study" json:"study"`
	Source       Source        `yaml:"source" json:"source"`
	Studies      []Repeated    `yaml:"studies" json:"studies,omitempty"`
	Baseline     string        `yaml:"baseline" json:"baseline,omitempty"` // the environment that the study itself compares with; "" where it has none
	Environments []Environment `yaml:"environments" json:"environments"`
	Tables       []Table       `yaml:"tables" json:"tables,omitempty"`
	Scores       *Scores       `yaml:"scores" json:"scores,omitempty"`
	Claims       []Claim       `yaml:"claims" json:"claims"`
	Figures      []Drawn       `yaml:"figures" json:"figures,omitempty"` // in the order of the source
	LeftOut      []LeftOut     `yaml:"left_out" json:"left_out,omitempty"`
	Notes        []string      `yaml:"notes" json:"notes,omitempty"`

	again Again // nil where the printed figures are meant
}

// Repeated is a built-in study of tare that measures this one again.
type Repeated struct {
	Study string `yaml:"study" json:"study"`
	// Gap is why some of what it measures is compared with nothing printed.
	Gap string `yaml:"gap" json:"gap,omitempty"`
}

// Source is the publication.
type Source struct {
	Title       string   `yaml:"title" json:"title"`
	Authors     []string `yaml:"authors" json:"authors,omitempty"`
	Year        int      `yaml:"year" json:"year,omitempty"` // 0 where the publication prints none
	Kind        string   `yaml:"kind" json:"kind"`           // master's thesis, conference paper, report ...
	Publisher   string   `yaml:"publisher" json:"publisher,omitempty"`
	Language    string   `yaml:"language" json:"language,omitempty"`
	Description string   `yaml:"description" json:"description,omitempty"` // machines and versions, in our own words
}

// Environment is one thing that the study compared.
type Environment struct {
	ID   string `yaml:"id" json:"id"`
	Name string `yaml:"name" json:"name"` // the study's own name
	// Kind, Inside and With map it to tare's environments: a kind, the kind
	// that it is nested in, and options. "" where tare has no such kind.
	Kind   string            `yaml:"kind" json:"kind,omitempty"`
	Inside string            `yaml:"inside" json:"inside,omitempty"`
	With   map[string]string `yaml:"with" json:"with,omitempty"`
	// Instead are environments that are measured in its place where a run has none of its
	// kind; the report says so.
	Instead []Instead `yaml:"instead" json:"instead,omitempty"`
	About   string    `yaml:"about" json:"about,omitempty"`
	// Gap is why tare's own study of the same has no environment for it.
	Gap string `yaml:"gap" json:"gap,omitempty"`
}

// Instead is a kind, and the kind that it is nested in.
type Instead struct {
	Kind   string `yaml:"kind" json:"kind"`
	Inside string `yaml:"inside" json:"inside,omitempty"`
}

// Table is the printed figures of one metric under one statistic. A printed
// table with several metrics becomes several of these.
type Table struct {
	ID        string `yaml:"id" json:"id"`
	Place     string `yaml:"place" json:"place"` // "Table 4", "Appendix A, row CPU"
	Metric    string `yaml:"metric" json:"metric"`
	Unit      string `yaml:"unit" json:"unit"`
	Better    string `yaml:"better" json:"better"`                 // higher, lower or neither
	N         int    `yaml:"n" json:"n,omitempty"`                 // repeats behind each figure; 0 where not said
	Statistic string `yaml:"statistic" json:"statistic,omitempty"` // mean, median, max, single ...; "" where not said
	// Measures names what measures the same in tare, one or several of which a
	// run may have; absent where nothing does.
	Measures Counterparts `yaml:"measures" json:"measures,omitempty"`
	// Options are those that environments had for this table alone, by environment. A run's
	// environment with others is compared too; the report says what differs.
	Options map[string]map[string]string `yaml:"options" json:"options,omitempty"`
	// Unlike are environments of which tare measures something else, with what it is.
	Unlike map[string]string `yaml:"unlike" json:"unlike,omitempty"`
	// Relative is the environment that the figures of each row are parts of, so that two
	// rows say nothing of each other.
	Relative string `yaml:"relative" json:"relative,omitempty"`
	// Gap is why no run is compared with the table.
	Gap string `yaml:"gap" json:"gap,omitempty"`
	// Cells are the figures by environment, for a table without levels.
	Cells map[string]Cell `yaml:"cells" json:"cells,omitempty"`
	// Rows are the figures of a table with levels, in printed order.
	Rows []Row `yaml:"rows" json:"rows,omitempty"`
	// Changes are percentages that the study printed beside the figures
	// against the environment Over; each is recomputed.
	Changes *Changes `yaml:"changes" json:"changes,omitempty"`
}

// Counterpart is a workload and a metric of tare that measure what a table
// holds.
type Counterpart struct {
	Workload string            `yaml:"workload" json:"workload"` // its name in the run, or its pack's
	Metric   string            `yaml:"metric" json:"metric"`
	With     map[string]string `yaml:"with" json:"with,omitempty"`     // parameters that the workload must have had: rw: read
	Levels   map[string]string `yaml:"levels" json:"levels,omitempty"` // the study's parameter: the workload's, or instances
	// Take is what is taken of several levels of the run: "" is the mean of one workload's,
	// mean of all workloads', best or worst the one of each environment, and widest the one
	// at which two environments differ most.
	Take string `yaml:"take" json:"take,omitempty"`
	// Rows are the rows that it measures, by what is no parameter: end: most.
	Rows    map[string]string `yaml:"rows" json:"rows,omitempty"`
	Caution string            `yaml:"caution" json:"caution,omitempty"`
}

// Row is the figures at one level.
type Row struct {
	At    Level           `yaml:"at" json:"at"`
	Cells map[string]Cell `yaml:"cells" json:"cells"`
	// Changes are printed percentages of this row, by environment.
	Changes map[string]Number `yaml:"changes" json:"changes,omitempty"`
}

// Changes are printed percentages of a table without levels, or the baseline
// of those in its rows.
type Changes struct {
	Over  string            `yaml:"over" json:"over"` // the environment that they are relative to
	Place string            `yaml:"place" json:"place,omitempty"`
	Cells map[string]Number `yaml:"cells" json:"cells,omitempty"` // -12% or 88 with parts: true
	// Parts says that 88% means 88% of the other, not 88% more.
	Parts bool `yaml:"parts" json:"parts,omitempty"`
}

// LeftOut is a chart without printed values, or a table that cannot be read.
type LeftOut struct {
	Place string `yaml:"place" json:"place"` // Figure 11
	Shows string `yaml:"shows" json:"shows"`
	Why   string `yaml:"why" json:"why,omitempty"` // "" means: a chart without printed values
}

// Scores are an evaluation in which each environment gets points a feature.
// Score k is granted where the k-th threshold is met, relative to Baseline.
type Scores struct {
	Place    string  `yaml:"place" json:"place"` // where the thresholds stand
	Baseline string  `yaml:"baseline" json:"baseline"`
	Profile  string  `yaml:"profile" json:"profile,omitempty"` // tare's built-in profile of the same scheme
	Groups   []Group `yaml:"groups" json:"groups"`
}

// Group is features that are summed up.
type Group struct {
	ID         string            `yaml:"id" json:"id"`
	Name       string            `yaml:"name" json:"name"`
	Place      string            `yaml:"place" json:"place"`
	Importance string            `yaml:"importance" json:"importance,omitempty"`
	Features   []Feature         `yaml:"features" json:"features"`
	Sums       map[string]Number `yaml:"sums" json:"sums,omitempty"` // the printed sums
}

// Feature is one line of a score sheet. One of AtLeast (100% and less, rising)
// and AtMost (falling) is given.
type Feature struct {
	ID       string            `yaml:"id" json:"id"`
	Name     string            `yaml:"name" json:"name"`
	Table    string            `yaml:"table" json:"table"`
	AtLeast  []Number          `yaml:"at_least" json:"at_least,omitempty"`
	AtMost   []Number          `yaml:"at_most" json:"at_most,omitempty"`
	Baseline *Number           `yaml:"baseline" json:"baseline,omitempty"` // as printed beside the thresholds, if it is
	Scores   map[string]Number `yaml:"scores" json:"scores"`               // the printed scores
}

// Claim is one statement of the study's text, in short form and other words.
type Claim struct {
	ID     string `yaml:"id" json:"id"`
	Place  string `yaml:"place" json:"place"` // "section 6.2", "abstract"
	Says   string `yaml:"says" json:"says"`   // at most some 70 characters
	Checks Checks `yaml:"check" json:"check"` // one, or a list of which all must hold
	Note   string `yaml:"note" json:"note,omitempty"`
}

// Check is one of these kinds: exactly one of the first nine keys is given, or unchecked
// beside another one, for what only a repeat can decide. The others (table, at, statistic
// ...) say which figures it is about.
type Check struct {
	// Ratio: what `of` is relative to `to`: -19%, 3x, +4%..+9%.
	Ratio string `yaml:"ratio" json:"ratio,omitempty"`
	// Difference: `of` minus `to`, in the table's unit.
	Difference *Number `yaml:"difference" json:"difference,omitempty"`
	// Value: the text repeats the figure of `of`.
	Value *Number `yaml:"value" json:"value,omitempty"`
	// Order: environments with < > <= >= = between them: docker < gvisor < kvm.
	Order string `yaml:"order" json:"order,omitempty"`
	// Extreme: `of` is best, worst, highest or lowest, among all or `among`.
	Extreme string `yaml:"extreme" json:"extreme,omitempty"`
	// Trend: `of` is rising, falling, not-rising or not-falling down the rows;
	// or `of` has its highest or lowest at the row `at`: peak, trough.
	Trend string `yaml:"trend" json:"trend,omitempty"`
	// Total: the figure of `of`, or the number `is`, is the sum, mean, least
	// or most of `over`.
	Total string `yaml:"total" json:"total,omitempty"`
	// Agree: two or more places print the same thing.
	Agree []Printed `yaml:"agree" json:"agree,omitempty"`
	// Unchecked: why nothing printed can decide it. A kind beside it is about what is
	// measured again alone.
	Unchecked string `yaml:"unchecked" json:"unchecked,omitempty"`

	Table     string   `yaml:"table" json:"table,omitempty"`
	Score     string   `yaml:"score" json:"score,omitempty"`         // instead of table: a feature's or a group's id; the printed scores or sums
	At        Level    `yaml:"at" json:"at,omitempty"`               // the row; without it every row
	Statistic string   `yaml:"statistic" json:"statistic,omitempty"` // value (default), sd, cv (sd over value)
	Wording   string   `yaml:"wording" json:"wording,omitempty"`     // exactly (default), about, almost, [about] at least, [about] at most, more than, less than, [about] up to
	Of        Operands `yaml:"of" json:"of,omitempty"`
	To        *Operand `yaml:"to" json:"to,omitempty"`
	Among     []string `yaml:"among" json:"among,omitempty"`
	Over      Operands `yaml:"over" json:"over,omitempty"`
	Is        *Number  `yaml:"is" json:"is,omitempty"` // of a total
}

// Operand is a figure: an environment alone, or a mapping that also overrides
// the check's table, score, row or statistic.
type Operand struct {
	Environment string `yaml:"environment" json:"environment,omitempty"`
	Table       string `yaml:"table" json:"table,omitempty"`
	Score       string `yaml:"score" json:"score,omitempty"`
	At          Level  `yaml:"at" json:"at,omitempty"`
	Statistic   string `yaml:"statistic" json:"statistic,omitempty"`
}

// Printed is what one place prints: a text, or a number that agrees with
// another where one rounds to the other.
type Printed struct {
	Place string `yaml:"place" json:"place"`
	Says  string `yaml:"says" json:"says"`
}

// Drawn is a figure of the source that a run is drawn in the way of.
type Drawn struct {
	Place string `yaml:"place" json:"place"` // Figure 11
	Shows string `yaml:"shows" json:"shows"`
	// Panels stand one below the other.
	Panels []Panel `yaml:"panels" json:"panels,omitempty"`
	// Gap is why no run is drawn like it.
	Gap string `yaml:"gap" json:"gap,omitempty"`
}

// Panel is a chart of one metric, or of what is used over time.
type Panel struct {
	Title string `yaml:"title" json:"title,omitempty"`
	Draw  string `yaml:"draw" json:"draw"` // bars, curves or time
	// Table is the table whose counterparts are drawn; Measures are others in their place.
	Table    string       `yaml:"table" json:"table,omitempty"`
	Measures Counterparts `yaml:"measures" json:"measures,omitempty"`
	// Environments are those that the source drew; none means all.
	Environments []string `yaml:"environments" json:"environments,omitempty"`
	// Over is the parameter along the axis of curves, of the workload, or instances; each
	// value of what else is swept is a line of its own.
	Over string `yaml:"over" json:"over,omitempty"`
	// Labels are values that are no places on the axis, in words: "0": unlimited.
	Labels map[string]string `yaml:"labels" json:"labels,omitempty"`
	// Quantity is what is drawn over time: a quantity of the resource use, or a series of
	// the driver.
	Quantity string `yaml:"quantity" json:"quantity,omitempty"`
}
