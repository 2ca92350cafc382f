package study

import (
	"fmt"
	"strings"

	"tare/internal/workload"
)

// Shape says which instances a workload needs at a level: how many copies of
// it, and in each an instance for what runs together and those of the roles
// that run elsewhere.
type Shape struct {
	Copies   int
	Together bool
	Roles    []RoleShape
}

// RoleShape is a role with instances of its own.
type RoleShape struct {
	Name   string
	OnHost bool
	Count  int
}

// Shape of the workload at a level.
func (w Workload) Shape(l Level) (Shape, error) {
	s := Shape{Copies: max(l.Instances, 1), Together: w.Pack.Driver == nil || w.Pack.Unplaced()}
	pack, err := w.Pack.With(l.Parameters, workload.Spot{})
	if err != nil {
		return s, err
	}
	for _, role := range pack.RoleNames() {
		place := pack.Place(role)
		if place == workload.Together {
			s.Together = true
			continue
		}
		count, err := pack.Count(role)
		if err != nil {
			return s, err
		}
		s.Roles = append(s.Roles, RoleShape{role, place == workload.OnHost, count})
	}
	return s, nil
}

// Key is the same for two that can use the same instances.
func (s Shape) Key() string {
	var parts []string
	if s.Together {
		parts = append(parts, "one")
	}
	for _, r := range s.Roles {
		parts = append(parts, fmt.Sprintf("%s:%d:%t", r.Name, r.Count, r.OnHost))
	}
	return fmt.Sprintf("%d×%s", s.Copies, strings.Join(parts, "+"))
}

// Meets says whether something in it reaches another instance, so that a
// network between them is needed.
func (s Shape) Meets() bool { return len(s.Roles) > 0 }

// Single says whether it is one instance.
func (s Shape) Single() bool { return s.Copies == 1 && len(s.Roles) == 0 }
