package published

// Listed is a study in the list of all.
type Listed struct {
	Name  string          `json:"name"`
	About string          `json:"about"`
	Count map[Outcome]int `json:"claims"`
}

// Claims is the number of all claims.
func (l Listed) Claims() (n int) {
	for _, count := range l.Count {
		n += count
	}
	return n
}

// List recomputes every built-in study.
func List() ([]Listed, error) {
	list := []Listed{}
	for _, name := range Names() {
		s, err := Builtin(name)
		if err != nil {
			return nil, err
		}
		list = append(list, Listed{name, s.Source.Title, s.Recompute().Count})
	}
	return list, nil
}
