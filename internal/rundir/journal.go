package rundir

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"tare/internal/bounded"
	"tare/internal/visible"
)

// journal is an append-only file of JSON lines. Only complete lines are valid: a
// line that a kill tore is moved to another file when the journal is opened for
// writing, and never parsed or deleted.
type journal struct {
	file *os.File
}

// openJournal opens the journal of a run for appending. The bytes of a torn line are
// moved to another file.
func openJournal(directory string) (*journal, []Trial, error) {
	path := filepath.Join(directory, journalFile)
	file, err := openFile(directory, journalFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, nil, err
	}
	trials, good, torn, err := readTrials(file)
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(torn) > 0 {
		if err := putAside(directory, torn); err != nil {
			file.Close()
			return nil, nil, err
		}
		if err := errors.Join(file.Truncate(good), file.Sync()); err != nil {
			file.Close()
			return nil, nil, fmt.Errorf("remove the torn line from %s: %w", path, err)
		}
	}
	if _, err := file.Seek(good, io.SeekStart); err != nil {
		file.Close()
		return nil, nil, err
	}
	return &journal{file: file}, trials, nil
}

func putAside(directory string, torn []byte) error {
	f, err := openFile(directory, journalFile+".torn", os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = f.Write(append(torn, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// readTrials returns the complete lines, the offset of their end and the bytes
// after it. Only the last line can be torn, because each is synced before the next:
// an earlier invalid line is an error.
func readTrials(r io.Reader) (trials []Trial, good int64, torn []byte, err error) {
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := bounded.ReadLine(in, bounded.Line)
		if errors.Is(err, io.EOF) {
			return trials, good, line, nil
		}
		wrong := func(err error) error {
			return fmt.Errorf("line %d is not a trial: %w: the file was changed after it was written; restore it, or cut it before that line", number, err)
		}
		if errors.Is(err, bounded.ErrTooLong) {
			return nil, 0, nil, wrong(err)
		}
		if err != nil {
			return nil, 0, nil, err
		}
		var t Trial
		if err := unmarshal(line, &t); err != nil {
			if _, more := in.Peek(1); errors.Is(more, io.EOF) { // the last line, torn within a disk block
				return trials, good, line, nil
			}
			return nil, 0, nil, wrong(err)
		}
		if err := t.check(); err != nil {
			return nil, 0, nil, wrong(err)
		}
		visible.Names(&t)
		trials = append(trials, t)
		good += int64(len(line))
	}
}

// append writes a line for each trial, synced to disk together.
func (j *journal) append(trials []Trial) error {
	var lines []byte
	for _, t := range trials {
		line, err := json.Marshal(t)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	if _, err := j.file.Write(lines); err != nil {
		return fmt.Errorf("write trials to %s: %w", j.file.Name(), err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", j.file.Name(), err)
	}
	return nil
}

func (j *journal) close() error { return j.file.Close() }

// loadTrials reads a journal without changing it. It says what it lacks, as far as that
// can be known: the last line where it is cut off, or what it had when the run ended.
func (r *Run) loadTrials() error {
	path := filepath.Join(r.Directory, journalFile)
	file, err := openFile(r.Directory, journalFile, os.O_RDONLY)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var trials []Trial
	var torn []byte
	sum := sha256.New()
	if err == nil {
		defer file.Close()
		if trials, _, torn, err = readTrials(io.TeeReader(file, sum)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := checkTrials(r.Plan, trials); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	sums, err := readFile(r.Directory, sumsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sealed := regexp.MustCompile(`(?m)^([0-9a-f]+)  ` + regexp.QuoteMeta(journalFile) + `$`).FindSubmatch(sums)
	switch {
	case r.HasEnded() && sealed != nil && string(sealed[1]) != hex.EncodeToString(sum.Sum(nil)):
		r.Incomplete = fmt.Sprintf("%s is not as it was when the run ended: results may be missing or changed; restore it", path)
	case len(torn) > 0 && r.HasEnded():
		r.Incomplete = fmt.Sprintf("the last line of %s is cut off: its results are missing; restore it", path)
	case len(torn) > 0:
		r.Incomplete = fmt.Sprintf("the last line of %s is cut off: its trial is repeated when the run is continued with --resume", path)
	}
	r.take(trials...)
	return nil
}
