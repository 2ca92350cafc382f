package rundir

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/base/visible"
)

// journal is an append-only file of JSON lines. Only complete lines are valid: a
// line that a kill tore is moved to another file when the journal is opened for
// writing, and never parsed or deleted.
//
// Line n of a second file is the SHA-256 of the first n lines, so that a change of a line
// and a journal that lost its end are found, also before the run has ended. It is written
// after the journal and not synced: after a crash it is as long as the journal or shorter.
type journal struct {
	file, sums *os.File
	sum        hash.Hash // of the lines so far
}

// openJournal opens the journal of a run, which has this content with these known
// checksums, for appending. The bytes of a torn line are moved to another file.
func openJournal(directory string, c content, known []string) (_ *journal, err error) {
	path := filepath.Join(directory, journalFile)
	if c.changed > 0 {
		return nil, fmt.Errorf("line %d of %s is not as tare wrote it: restore the file, or cut it before that line, and the trials from there on are made again", c.changed, path)
	}
	j := &journal{sum: c.sum}
	defer func() {
		if err != nil {
			_ = j.close()
		}
	}()
	if j.file, err = openFile(directory, journalFile, os.O_RDWR|os.O_CREATE); err != nil {
		return nil, err
	}
	if len(c.torn) > 0 {
		if err := putAside(directory, c.torn); err != nil {
			return nil, err
		}
		if err := errors.Join(j.file.Truncate(c.good), j.file.Sync()); err != nil {
			return nil, fmt.Errorf("remove the torn line from %s: %w", path, err)
		}
	}
	if _, err := j.file.Seek(c.good, io.SeekStart); err != nil {
		return nil, err
	}
	return j, j.openSums(directory, known, c.sums)
}

// openSums opens the file of checksums, which becomes that of the lines in the journal.
func (j *journal) openSums(directory string, known, is []string) (err error) {
	if j.sums, err = openFile(directory, journalSumsFile, os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	keep := min(len(known), len(is)) * sumLine
	if err := j.sums.Truncate(int64(keep)); err != nil {
		return err
	}
	if _, err := j.sums.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	_, err = j.sums.WriteString(strings.Join(is, "")[keep:])
	return err
}

func putAside(directory string, torn []byte) error {
	f, err := openFile(directory, journalFile+".torn", os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = f.Write(append(torn, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// sumLine is the length of a line of the file of checksums.
const sumLine = 2*sha256.Size + 1

// readSums returns the lines of the file of checksums, up to one that was not written
// as a whole. Older runs have none.
func readSums(directory string) (sums []string, err error) {
	data, err := readFile(directory, journalSumsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(data)) {
		if _, wrong := hex.DecodeString(strings.TrimSuffix(line, "\n")); wrong != nil || len(line) != sumLine {
			break
		}
		sums = append(sums, line)
	}
	return sums, err
}

// content is what a journal has.
type content struct {
	trials  []Trial // of the complete lines
	good    int64   // the offset of their end
	torn    []byte  // the bytes after it
	sum     hash.Hash
	sums    []string // of the first line, the first two, ...
	changed int      // the first line that differs from its checksum, from 1; 0 for none
	lost    int      // lines at the end that have a checksum and are not there
}

// maxTrials is how many trials a journal can have, and bounded.Output how many bytes: all
// of them are held in memory. It is a variable for the tests.
var maxTrials = 1_000_000

// readTrials reads a journal with the checksums that are known. Only the last line can be
// torn, because each is synced before the next: an earlier invalid line is an error.
func readTrials(r io.Reader, known []string) (c content, err error) {
	in := bufio.NewReader(r)
	c.sum = sha256.New()
	for number := 1; ; number++ {
		line, err := bounded.ReadLine(in, bounded.Line)
		if errors.Is(err, io.EOF) {
			c.end(line, known)
			return c, nil
		}
		wrong := func(err error) error {
			return fmt.Errorf("line %d is not a trial: %w; the file was changed after it was written: restore it, or cut it before that line", number, err)
		}
		if errors.Is(err, bounded.ErrTooLong) {
			return content{}, wrong(err)
		}
		if err != nil {
			return content{}, err
		}
		var t Trial
		if err := unmarshal(line, &t); err != nil {
			if _, more := in.Peek(1); errors.Is(more, io.EOF) { // the last line, torn within a disk block
				c.end(line, known)
				return c, nil
			}
			return content{}, wrong(err)
		}
		if err := t.check(); err != nil {
			return content{}, wrong(err)
		}
		if c.good += int64(len(line)); len(c.trials) == maxTrials || c.good > int64(bounded.Output) {
			return content{}, fmt.Errorf("it has more than %d trials or %s, which is too much for one run", maxTrials, bounded.Output)
		}
		visible.Names(&t)
		c.trials = append(c.trials, t)
		c.sum.Write(line)
		c.sums = append(c.sums, sumOf(c.sum))
		if c.changed == 0 && number <= len(known) && known[number-1] != c.sums[number-1] {
			c.changed = number
		}
	}
}

func (c *content) end(torn []byte, known []string) {
	c.torn, c.lost = torn, max(0, len(known)-len(c.sums))
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) + "\n" }

// append writes a line for each trial, synced to disk together.
func (j *journal) append(trials []Trial) error {
	var lines, sums []byte
	for _, t := range trials {
		line, err := json.Marshal(t)
		if err != nil {
			return err
		}
		line = append(line, '\n')
		lines = append(lines, line...)
		j.sum.Write(line)
		sums = append(sums, sumOf(j.sum)...)
	}
	if _, err := j.file.Write(lines); err != nil {
		return fmt.Errorf("write trials to %s: %w", j.file.Name(), err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", j.file.Name(), err)
	}
	if _, err := j.sums.Write(sums); err != nil {
		return fmt.Errorf("write checksums to %s: %w", j.sums.Name(), err)
	}
	return nil
}

func (j *journal) close() error {
	var errs []error
	for _, f := range []*os.File{j.file, j.sums} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// loadTrials reads a journal without changing it. It says what it lacks, as far as that
// can be known: the last line where it is cut off, or what it had when the run ended.
func (r *Run) loadTrials() (c content, known []string, err error) {
	path := filepath.Join(r.Directory, journalFile)
	known, err = readSums(r.Directory) // before the journal, which may grow now
	if err != nil {
		return c, nil, err
	}
	file, err := openFile(r.Directory, journalFile, os.O_RDONLY)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, nil, err
	}
	whole := sha256.New()
	c = content{lost: len(known), sum: sha256.New()}
	if err == nil {
		defer file.Close()
		if c, err = readTrials(io.TeeReader(file, whole), known); err != nil {
			return c, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := checkTrials(r.Plan, c.trials); err != nil {
		return c, nil, fmt.Errorf("%s: %w", path, err)
	}
	sums, err := readFile(r.Directory, sumsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, nil, err
	}
	sealed := regexp.MustCompile(`(?m)^([0-9a-f]+)  ` + regexp.QuoteMeta(journalFile) + `$`).FindSubmatch(sums)
	switch {
	case r.Manifest.HasEnded() && sealed != nil && string(sealed[1]) != hex.EncodeToString(whole.Sum(nil)):
		r.Incomplete = fmt.Sprintf("%s is not as it was when the run ended: results may be missing or changed; restore it", path)
	case c.changed > 0:
		r.Incomplete = fmt.Sprintf("line %d of %s is not as tare wrote it: results may be missing or changed; restore it", c.changed, path)
	case c.lost > 1 || c.lost == 1 && len(c.torn) == 0:
		r.Incomplete = fmt.Sprintf("%d of the %d trials of %s are missing: restore it, or they are made again when the run is continued with --resume", c.lost, c.lost+len(c.trials), path)
	case len(c.torn) > 0 && r.Manifest.HasEnded():
		r.Incomplete = fmt.Sprintf("the last line of %s is cut off: its results are missing; restore it", path)
	case len(c.torn) > 0:
		r.Incomplete = fmt.Sprintf("the last line of %s is cut off: its trial is repeated when the run is continued with --resume", path)
	}
	r.take(c.trials...)
	c.trials = nil
	return c, known, nil
}
