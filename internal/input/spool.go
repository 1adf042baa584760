package input

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/record"
	"github.com/heaptap/heaptap/internal/wire"
)

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
	f, err := private.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var mark [8]byte
	_, err = io.ReadFull(f, mark[:])
	return err == nil && binary.LittleEndian.Uint64(mark[:]) == wire.SpoolMagic || strings.HasSuffix(path, ".spool")
}
