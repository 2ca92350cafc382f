// Command release writes the files of a release that no other program writes: the licence
// texts of what is linked into the programs, and the provenance. scripts/release.sh calls
// it, and writes all others.
//
// It must not know what tare does.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tare/internal/base/bounded"
)

func main() {
	notices := flag.String("notices", "", "`file` for the licence texts of the packages that are named")
	provenance := flag.String("provenance", "", "`file` for the provenance of the files that are named")
	version := flag.String("version", "", "`version` of the release")
	commit := flag.String("commit", "", "`commit` of the source")
	flag.Parse()
	var err error
	switch {
	case *notices != "":
		err = write(*notices, func(w io.Writer) error { return writeNotices(w, flag.Args()) })
	case *provenance != "":
		err = write(*provenance, func(w io.Writer) error { return writeProvenance(w, *version, *commit, flag.Args()) })
	default:
		err = errors.New("name a file to write: -notices or -provenance")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func write(path string, content func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(content(file), file.Close())
}

// The statement is one of in-toto (https://in-toto.io/Statement/v1) with the provenance of
// SLSA 1.0 (https://slsa.dev/spec/v1.0/provenance). It is not signed: who rebuilds the
// release from the same commit with the same Go gets the same files. It names no time and
// no machine, so that it is the same too.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []artifact `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type artifact struct {
	Name        string            `json:"name"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []artifact        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

func writeProvenance(w io.Writer, version, commit string, files []string) error {
	source := artifact{Name: "source"}
	digits, changed := strings.CutSuffix(commit, "-dirty")
	if digits != "" {
		source.Digest = map[string]string{"gitCommit": digits}
	}
	if changed || digits == "" {
		source.Annotations = map[string]string{"changed": "files differ from the commit, or there is none"}
	}
	sum, err := digest("go.sum")
	if err != nil {
		return err
	}
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	build := &s.Predicate.BuildDefinition
	build.BuildType = "urn:tare:make-release:1"
	build.ExternalParameters = map[string]string{"command": "make release", "version": version}
	build.InternalParameters = map[string]string{"go": runtime.Version()}
	build.ResolvedDependencies = []artifact{source, {Name: "go.sum", Digest: sum}}
	s.Predicate.RunDetails.Builder.ID = "urn:tare:make-release"
	if id := os.Getenv("TARE_BUILDER"); id != "" {
		s.Predicate.RunDetails.Builder.ID = id
	}
	slices.Sort(files)
	for _, file := range files {
		sum, err := digest(file)
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, artifact{Name: filepath.Base(file), Digest: sum})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(s)
}

func digest(path string) (map[string]string, error) {
	sum, err := bounded.Sum(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, bounded.Cause(err))
	}
	return map[string]string{"sha256": sum}, nil
}
