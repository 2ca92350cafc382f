package image

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// workaround is what to do with a disk that cannot be read.
const workaround = "import its files as an OCI image (docker import), and use reference: with kernel: image"

// packExt writes the files of an ext2, ext3 or ext4 file system as a tar, and returns its
// SHA-256. The file system is a copy: e2fsck replays its journal and repairs it, so that
// debugfs reads a consistent one. Files are read by inode, under names of tare's own: a
// name on the disk leads nowhere here. (rdump would use these names, and lose set-user-ID
// bits, hard links and device nodes.)
func packExt(ctx context.Context, device, packed string) (sum string, err error) {
	_, err = tool{argv: []string{"e2fsck", "-f", "-y", device}}.run(ctx)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 { // it is repaired
		err = nil
	}
	if err != nil {
		return "", err
	}
	b, err := newBudget(filepath.Dir(packed))
	if err != nil {
		return "", err
	}
	fs := extfs{device: device, content: packed + ".content", inodes: map[int64]*tar.Header{}, first: map[int64]string{}, budget: b}
	if err := os.Mkdir(fs.content, 0o700); err != nil {
		return "", explain(err)
	}
	defer os.RemoveAll(fs.content)
	if err := fs.walk(ctx); err != nil {
		return "", err
	}
	names := map[string]bool{}
	for _, f := range fs.files {
		names[f.name] = true
	}
	if !names["etc"] || !names["usr"] && !names["bin"] {
		return "", fmt.Errorf("its largest file system has no /etc or no /usr, so it is not the root of an installed system: %s", workaround)
	}
	if err := fs.describe(ctx); err != nil {
		return "", err
	}
	out, err := os.OpenFile(packed, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", explain(err)
	}
	defer out.Close()
	hash := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(out, hash), 1<<20)
	if err := fs.pack(ctx, buffered); err != nil {
		return "", err
	}
	if err := errors.Join(buffered.Flush(), out.Close()); err != nil {
		return "", explain(err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// extfs is a file system that debugfs reads.
type extfs struct {
	device, content string
	files           []extFile // parents first
	inodes          map[int64]*tar.Header
	first           map[int64]string // name of each inode
	budget          *budget
}

type extFile struct {
	name  string
	inode int64
}

// At most so many requests are one call of debugfs, which bounds its output.
const extBatch = 2000

// ask calls debugfs with a command for each inode, and returns each answer. %d is the
// inode in the command. debugfs repeats each command before its answer.
func (fs *extfs) ask(ctx context.Context, command string, inodes []int64) (map[int64]string, error) {
	answers := map[int64]string{}
	for batch := range slices.Chunk(inodes, extBatch) {
		script := filepath.Join(fs.content, "script")
		var lines strings.Builder
		echo := map[string]int64{}
		for _, inode := range batch {
			line := strings.ReplaceAll(command, "%d", fmt.Sprint(inode))
			echo["debugfs: "+line+"\n"] = inode
			lines.WriteString(line + "\n")
		}
		if err := os.WriteFile(script, []byte(lines.String()), 0o600); err != nil {
			return nil, explain(err)
		}
		text, err := tool{argv: []string{"debugfs", "-f", script, fs.device}, dir: fs.content, env: []string{"DEBUGFS_PAGER=__none__"}}.run(ctx)
		if err != nil {
			return nil, err
		}
		var answer strings.Builder
		var of int64
		for line := range strings.Lines(text) {
			if inode, next := echo[line]; next {
				answers[of] = answer.String()
				answer.Reset()
				of = inode
				continue
			}
			answer.WriteString(line)
		}
		answers[of] = answer.String()
	}
	return answers, nil
}

const rootInode = 2

// The lines of ls -p, such as /12/100644/0/0/hostname/7/. No name has a slash.
var extEntry = regexp.MustCompile(`^/(\d+)/(\d+)/(-?\d+)/(-?\d+)/([^/]+)/(\d*)/$`)

// walk lists all names, a level of directories at a time.
func (fs *extfs) walk(ctx context.Context) error {
	for level := []extFile{{".", rootInode}}; len(level) > 0; {
		inodes := make([]int64, len(level))
		for i, d := range level {
			inodes[i] = d.inode
		}
		answers, err := fs.ask(ctx, "ls -p <%d>", inodes)
		if err != nil {
			return err
		}
		var next []extFile
		for _, d := range level {
			below, err := fs.list(d, answers[d.inode])
			if err != nil {
				return err
			}
			next = append(next, below...)
		}
		level = next
	}
	return nil
}

// list reads the entries of a directory, and returns the directories among them.
func (fs *extfs) list(d extFile, answer string) (below []extFile, err error) {
	if !strings.Contains(answer, "/./") {
		return nil, fmt.Errorf("debugfs does not list /%s of it", d.name)
	}
	for line := range strings.Lines(answer) {
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			continue
		}
		m := extEntry.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("a name in /%s has a line break, or debugfs answers in a form that is not known, %q: rename the file, or %s", d.name, line, workaround)
		}
		inode, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return nil, err
		}
		name := path.Join(d.name, m[5])
		switch {
		case m[5] == "..", m[5] == "." && inode != rootInode, name == "lost+found":
			continue
		case m[5] == ".":
			name = "."
		}
		header, err := extHeader(m)
		if err != nil {
			return nil, err
		}
		if header == nil {
			continue
		}
		header.Name = name
		if err := fs.budget.entry(header); err != nil {
			return nil, err
		}
		f := extFile{name, inode}
		fs.files = append(fs.files, f)
		if _, again := fs.inodes[inode]; again {
			continue
		}
		if err := fs.budget.file(name, header.Size); err != nil {
			return nil, err
		}
		fs.inodes[inode], fs.first[inode] = header, name
		if header.Typeflag == tar.TypeDir && name != "." {
			below = append(below, f)
		}
	}
	return below, nil
}

// extHeader is a file as ls -p describes it; nil of a socket, which no tar has.
func extHeader(m []string) (*tar.Header, error) {
	mode, err := strconv.ParseInt(m[2], 8, 32)
	uid, err2 := strconv.ParseInt(m[3], 10, 64)
	gid, err3 := strconv.ParseInt(m[4], 10, 64)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	kind, known := map[int64]byte{
		0o010: tar.TypeFifo, 0o020: tar.TypeChar, 0o040: tar.TypeDir, 0o060: tar.TypeBlock, 0o100: tar.TypeReg, 0o120: tar.TypeSymlink,
	}[mode>>9&0o170]
	if !known {
		return nil, nil
	}
	h := &tar.Header{Format: tar.FormatPAX, Typeflag: kind, Mode: mode & 0o7777, Uid: int(uint32(uid)), Gid: int(uint32(gid))}
	if kind == tar.TypeReg {
		h.Size, err = strconv.ParseInt(m[6], 10, 64)
	}
	return h, err
}

var (
	extTime   = regexp.MustCompile(`(?m)^ *mtime: 0x([0-9a-f]+)`)
	extDevice = regexp.MustCompile(`(?m)^Device major/minor number: (\d+):(\d+) `)
	extLink   = regexp.MustCompile(`(?m)^Fast link dest: "(.*)"$`)
)

// describe adds to the headers what only stat says, and copies the content of files and
// of long links.
func (fs *extfs) describe(ctx context.Context) error {
	var all, contents []int64
	for _, f := range fs.files {
		if fs.first[f.inode] == f.name {
			all = append(all, f.inode)
		}
	}
	stats, err := fs.ask(ctx, "stat <%d>", all)
	if err != nil {
		return err
	}
	for _, inode := range all {
		h, stat := fs.inodes[inode], stats[inode]
		changed := extTime.FindStringSubmatch(stat)
		if changed == nil {
			return fmt.Errorf("debugfs does not describe /%s of it", h.Name)
		}
		seconds, err := strconv.ParseInt(changed[1], 16, 64)
		if err != nil {
			return err
		}
		h.ModTime = time.Unix(seconds, 0)
		link := extLink.FindStringSubmatch(stat)
		switch {
		case h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock:
			device := extDevice.FindStringSubmatch(stat)
			if device == nil {
				return fmt.Errorf("debugfs does not say which device /%s of it is", h.Name)
			}
			major, err := strconv.ParseInt(device[1], 10, 32)
			minor, err2 := strconv.ParseInt(device[2], 10, 32)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			h.Devmajor, h.Devminor = major, minor
		case link != nil:
			h.Linkname = link[1]
		case h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeSymlink:
			contents = append(contents, inode)
		}
	}
	_, err = fs.ask(ctx, "dump <%d> %d", contents)
	return err
}

func (fs *extfs) pack(ctx context.Context, to io.Writer) error {
	out := tar.NewWriter(to)
	for _, f := range fs.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := *fs.inodes[f.inode]
		if h.Name = f.name; fs.first[f.inode] != f.name {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, fs.first[f.inode], 0
		}
		content := filepath.Join(fs.content, fmt.Sprint(f.inode))
		if h.Typeflag == tar.TypeSymlink && h.Linkname == "" {
			target, err := os.ReadFile(content)
			if err != nil || len(target) == 0 || len(target) > maxName {
				return fmt.Errorf("debugfs does not say where the link /%s of it leads", f.name)
			}
			h.Linkname = string(target)
		}
		if err := out.WriteHeader(&h); err != nil {
			return fmt.Errorf("/%s: %w", f.name, explain(err))
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := copyWhole(out, content, h.Size); err != nil {
			return fmt.Errorf("/%s: %w", f.name, explain(err))
		}
	}
	return explain(out.Close())
}

// copyWhole copies a file that has to be of a size, and removes it.
func copyWhole(to io.Writer, file string, size int64) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || info.Size() != size {
		return fmt.Errorf("debugfs did not copy its %d bytes", size)
	}
	if _, err = io.Copy(to, in); err != nil {
		return err
	}
	return os.Remove(file)
}
