package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"strings"

	"tare/internal/verdict"
)

// The script and the style are built from web/; see docs/report.md.
var (
	//go:embed assets/report.js
	script string
	//go:embed assets/report.css
	style string
	//go:embed why.tmpl
	whyText string
	//go:embed kernel.tmpl
	kernelText string
	//go:embed page.tmpl
	pageText string
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"figure":     figure,
	"kernelLead": func() string { return kernelLead },
	"change":     func(c *contrast) string { return typeset(change(middle(c))) },
	"ends":       func(c *contrast) string { return typeset(ends(c)) },
	"tails":      func(c *contrast) string { return typeset(tails(c)) },
	"wording":    func(c *contrast) string { return typeset(verdict.Wording(*c)) },
	"word":       word,
	"remark":     remark,
	"counts":     counts,
	"place":      place,
	"percent":    percent,
	"mark":       markOf,
	"facts":      factsOf,
	"folded":     folded,
	"join":       func(words []string) string { return strings.Join(words, ", ") },
	"blocks":     blockList,
	"versions":   versions,
	"usageOf":    func(w workloadView, t usageTable) usageIn { return usageIn{w, t} },
	"short":      func(sum string) string { return sum[:min(12, len(sum))] },
}).Parse(fairText + whyText + kernelText + sheetText + againstText + pageText))

// HTML writes the run as one page that needs nothing but itself: it asks no
// network for anything, and its security policy would not let it.
func HTML(w io.Writer, in Input) error {
	v := newView(in)
	data, err := json.Marshal(newChartData(v))
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(script))
	p := &page{
		view: v,
		// The only script that may run is the one that tare brings.
		Policy: "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Script: template.JS(script),
		Style:  template.CSS(style),
		Data:   template.JS(data), // encoding/json writes < > & as escapes, so nothing ends the element
		bars:   newBars(v),
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}
