package scaffold

import (
	"cmp"
	"regexp"

	"tare/internal/author/try"
	"tare/internal/image/origin"
)

// elsewhere are the references of images that are not in a registry.
var elsewhere = regexp.MustCompile(`^(docker-daemon|oci|tar):`)

// FromImage is the study of an image's own server. The description is nil where nobody was
// there to give it; silence is the reason.
func (o Options) FromImage(reference string, d *origin.Description, silence error) (*Study, error) {
	t, err := o.begin(cmp.Or(try.ImageName(reference), "image"), reference)
	if err != nil {
		return nil, err
	}
	s := &Study{Text: t}
	one := server{lines: [][2]string{{"server: image", "the image's own server is driven"}}, start: true}
	if d == nil {
		s.Remarks = append(s.Remarks, silence.Error())
		d = &origin.Description{}
	}
	one.page = try.HealthPath(d.Health)
	if one.page != "" {
		one.pageWhy = "the image's health check asks for it"
	}
	one.variables = try.Variables(d.Env)
	one.ports = try.ExposedPorts(d.Config)
	one.port, one.load = choose(one.ports, one.page)
	one.portWhy = "the image exposes it"
	limits(t)
	one.workloads(t)
	end(t)
	switch {
	case len(t.Todos()) == 0:
	case silence != nil && !elsewhere.MatchString(reference):
		s.Remarks = append(s.Remarks, "an image that is on this machine is docker-daemon:NAME or tar:FILE")
	default:
		s.Remarks = append(s.Remarks, "`tare try "+reference+"` starts the image once, and finds out what is marked")
	}
	return s, nil
}
