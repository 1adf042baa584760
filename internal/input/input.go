// Package input finds the recordings that a file name from the user stands for.
package input

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	imports "github.com/heaptap/heaptap/internal/import"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/record"
	"github.com/heaptap/heaptap/internal/wire"
)

// Open opens a file that stands for one recording. version is that of heaptap, for recordings made from other files.
func Open(ctx context.Context, file, version string) (*query.Source, error) {
	paths, remove, err := Recordings(ctx, file, version)
	if err != nil {
		return nil, err
	}
	defer remove()
	if len(paths) > 1 {
		return nil, fmt.Errorf("%s: holds %d processes; only `heaptap report` and `heaptap check` take several", file,
			len(paths))
	}
	return query.Open(paths[0])
}

// Recordings returns the recordings that a file stands for. A recording stands for itself. The spool of a process that
// ran without a recorder stands for a recording of each process that it forked. Another tool's file stands for its
// import. remove removes temporary recordings; open ones stay readable.
func Recordings(ctx context.Context, file, version string) (paths []string, remove func(), err error) {
	spool := isSpool(file)
	if !spool && !imports.Is(file) {
		return []string{file}, func() {}, nil
	}
	dir, remove, err := outfile.TemporaryDir("heaptap-query-")
	if err != nil {
		return nil, nil, err
	}
	if spool {
		paths, err = converted(ctx, file, dir)
	} else {
		paths = []string{filepath.Join(dir, filepath.Base(file))} // errors contain this name
		err = imports.File(file, paths[0], version, "")
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return paths, remove, nil
}

// converted returns the recordings of a spool's processes.
func converted(ctx context.Context, file, dir string) (paths []string, err error) {
	err = record.Convert(ctx, file, filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".spool")+".htap"))
	if err == nil {
		paths, err = filepath.Glob(filepath.Join(dir, "*.htap"))
	}
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: holds no events", file)
	}
	return paths, err
}

// isSpool reports whether a file is the spool of an agent that had no recorder.
func isSpool(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var mark [8]byte
	_, err = io.ReadFull(f, mark[:])
	return err == nil && binary.LittleEndian.Uint64(mark[:]) == wire.SpoolMagic || strings.HasSuffix(path, ".spool")
}

// Expand replaces each folder by the recordings in it. A file that does not exist stays in the list: opening it
// reports the error.
func Expand(paths []string) (files []string, err error) {
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil || !st.IsDir() {
			files = append(files, path)
			continue
		}
		list, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, e := range list {
			if filepath.Ext(e.Name()) == ".htap" && !e.IsDir() {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: the folder has no recordings (.htap)", path)
		}
	}
	return files, nil
}

// SplitRange splits FILE@FROM..TO, unless a file with the whole name exists.
func SplitRange(text string) (file, span string) {
	i := strings.LastIndexByte(text, '@')
	if _, err := os.Stat(text); err == nil || i < 0 || !strings.Contains(text[i:], "..") {
		return text, ""
	}
	return text[:i], text[i+1:]
}
