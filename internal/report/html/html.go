// Package html writes a run as one HTML page that works offline: templates,
// style and script are embedded. It must not decide anything: what it shows
// comes from package model.
package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"sync"

	"tare/internal/base/visible"
	"tare/internal/report/model"
	"tare/internal/report/section"
	"tare/internal/verdict"
)

// The script and the style are built from web/; see docs/how-to/report.md.
var (
	//go:embed assets/report.js
	script string
	//go:embed assets/report.css
	style string
	//go:embed templates
	templates embed.FS
)

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
		"figure":      model.Figure,
		"typeset":     typeset,
		"under":       under,
		"headed":      headed,
		"cells":       cells,
		"change":      func(c *verdict.Contrast) string { return typeset(model.EstimateText(c)) },
		"ends":        func(c *verdict.Contrast) string { return typeset(model.IntervalText(c)) },
		"tails":       func(c *verdict.Contrast) string { return typeset(model.Tails(c)) },
		"wording":     func(c *verdict.Contrast) string { return typeset(verdict.Wording(*c)) },
		"word":        model.VerdictWord,
		"remark":      model.Remark,
		"counts":      model.BlockCount,
		"place":       model.LevelTitle,
		"mark":        model.ConfoundMark,
		"plotted":     plotted,
		"blockAnchor": model.LevelAnchor,
		"usages":      section.Usages,
		"processes":   section.Processes,
		"machine":     section.Machine,
		"percentiles": section.Percentiles,
		"alone":       func(p section.Part) partOf { return partOf{Part: p} },
		"short":       func(sum string) string { return sum[:min(12, len(sum))] },
	}).ParseFS(templates, "templates/*.tmpl"))
})

// Policy is the content security policy of a page: the only script that may run is the one
// that tare brings, and the only picture is the empty icon that keeps browsers from asking
// a server for one.
func Policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Style is the style of a page, for other pages that look like it.
func Style() string { return style }

// Write writes the run as one self-contained page. It loads nothing, and its content
// security policy forbids it to.
func Write(w io.Writer, in model.Input, _ model.Options) error { return WriteWithin(w, in, "") }

// WriteWithin writes the page for a place among others: it begins with a link back to that
// address, if there is one.
func WriteWithin(w io.Writer, in model.Input, back string) error {
	v := model.New(in)
	data, err := json.Marshal(newChartData(v))
	if err != nil {
		return err
	}
	p := &page{
		Report:   v,
		Back:     back,
		Policy:   Policy(),
		Script:   template.JS(script),
		Style:    template.CSS(style),
		Data:     template.JS(visible.JSON(string(data))), // encoding/json writes < > & as escapes, so nothing ends the element
		Sections: sectionsOf(v, section.All),
		bars:     newBars(v),
		index:    newTrialIndex(v.Trials),
	}
	var out bytes.Buffer
	if err := pageTemplate().Execute(&out, p); err != nil {
		return err
	}
	for line := range bytes.Lines(out.Bytes()) { // a page can be larger than all else of a report
		if _, err := io.WriteString(w, visible.Text(string(line))); err != nil {
			return err
		}
	}
	return nil
}

// WriteScore writes the score sheet alone, as one page that works offline.
func WriteScore(w io.Writer, in model.Input, _ model.Options) error {
	v := model.New(in)
	var out bytes.Buffer
	if err := pageTemplate().ExecuteTemplate(&out, "score page", &page{Report: v, Style: template.CSS(style), Sections: sectionsOf(v, section.Score)}); err != nil {
		return err
	}
	_, err := io.WriteString(w, visible.Text(out.String()))
	return err
}
