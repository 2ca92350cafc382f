package dashboard

// The subset of Grafana's dashboard model that the dashboards use. A test checks
// the files against Grafana's own types.

// Dashboard is the JSON model of one dashboard.
type Dashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	Editable      bool       `json:"editable"`
	Tooltip       int        `json:"graphTooltip"` // 1: the crosshair is shared
	SchemaVersion int        `json:"schemaVersion"`
	Refresh       string     `json:"refresh"`
	Time          span       `json:"time"`
	Templating    templating `json:"templating"`
	Panels        []panel    `json:"panels"`
}

type span struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []variable `json:"list"`
}

type variable struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Label      string     `json:"label"`
	Query      any        `json:"query"`
	Datasource *reference `json:"datasource,omitempty"`
	Refresh    int        `json:"refresh,omitempty"` // 2: when the time range changes
	Sort       int        `json:"sort,omitempty"`
	Multi      bool       `json:"multi,omitempty"`
	IncludeAll bool       `json:"includeAll,omitempty"`
	AllValue   string     `json:"allValue,omitempty"`
	Current    *current   `json:"current,omitempty"`
}

type variableQuery struct {
	Query string `json:"query"`
	RefID string `json:"refId"`
}

type current struct {
	Text  string `json:"text"`
	Value string `json:"value"`
}

type reference struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type panel struct {
	ID              int              `json:"id"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Description     string           `json:"description,omitempty"`
	GridPos         position         `json:"gridPos"`
	Datasource      *reference       `json:"datasource,omitempty"`
	Targets         []target         `json:"targets,omitempty"`
	Options         any              `json:"options,omitempty"`
	FieldConfig     *fieldConfig     `json:"fieldConfig,omitempty"`
	Transformations []transformation `json:"transformations,omitempty"`
	Collapsed       *bool            `json:"collapsed,omitempty"` // of rows
	Panels          *[]panel         `json:"panels,omitempty"`    // of rows
}

type position struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type target struct {
	RefID        string     `json:"refId"`
	Datasource   *reference `json:"datasource"`
	Expr         string     `json:"expr"`
	LegendFormat string     `json:"legendFormat,omitempty"`
	Instant      bool       `json:"instant,omitempty"`
	Range        bool       `json:"range,omitempty"`
	Format       string     `json:"format,omitempty"`
}

type fieldConfig struct {
	Defaults  defaults   `json:"defaults"`
	Overrides []struct{} `json:"overrides"`
}

type defaults struct {
	Unit     string `json:"unit,omitempty"`
	Decimals *int   `json:"decimals,omitempty"`
	Min      *int   `json:"min,omitempty"`
	Custom   any    `json:"custom,omitempty"`
}

type transformation struct {
	ID      string `json:"id"`
	Options any    `json:"options"`
}

type organize struct {
	Exclude map[string]bool   `json:"excludeByName"`
	Rename  map[string]string `json:"renameByName"`
}

type statOptions struct {
	ColorMode         string `json:"colorMode"`
	GraphMode         string `json:"graphMode"`
	JustifyMode       string `json:"justifyMode"`
	TextMode          string `json:"textMode"`
	WideLayout        bool   `json:"wideLayout"`
	ShowPercentChange bool   `json:"showPercentChange"`
	PercentColorMode  string `json:"percentChangeColorMode"`
	Orientation       string `json:"orientation"`
	Reduce            reduce `json:"reduceOptions"`
}

type reduce struct {
	Calcs []string `json:"calcs"`
}

type graphOptions struct {
	Legend  legend  `json:"legend"`
	Tooltip tooltip `json:"tooltip"`
}

type legend struct {
	Calcs       []string `json:"calcs"`
	DisplayMode string   `json:"displayMode"`
	Placement   string   `json:"placement"`
	ShowLegend  bool     `json:"showLegend"`
}

type tooltip struct {
	Mode string `json:"mode"`
	Sort string `json:"sort"`
}

type graphStyle struct {
	DrawStyle  string `json:"drawStyle"`
	LineWidth  int    `json:"lineWidth"`
	ShowPoints string `json:"showPoints"`
	PointSize  int    `json:"pointSize"`
	SpanNulls  bool   `json:"spanNulls"`
}

type tableOptions struct {
	FrameIndex int  `json:"frameIndex"`
	ShowHeader bool `json:"showHeader"`
}
