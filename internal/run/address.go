package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
)

// The address of a recording is a path that stays the same while its run changes from a file to a folder, and the
// recording moves into the pack: RUN/p/NN/PID-START.htap, whether there is such a file or not.

// split splits an address into the run and the recording's path in it.
func split(address string) (run, member string, ok bool) {
	parts := strings.Split(address, "/")
	if len(parts) < 4 {
		return "", "", false
	}
	member = strings.Join(parts[len(parts)-3:], "/")
	return strings.Join(parts[:len(parts)-3], "/"), member, memberForm().MatchString(member)
}

// OpenRecording opens the recording at an address, or at the path of a recording that is not in a run.
func OpenRecording(address string) (*recording.Reader, error) {
	at, member, ok := split(address)
	if !ok {
		return recording.Open(address)
	}
	for try := 0; ; try++ {
		rec, err := openAddress(at, member)
		if !errors.Is(err, fs.ErrNotExist) || try == 20 || !changing(at) {
			return rec, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func openAddress(at, member string) (*recording.Reader, error) {
	path := filepath.Join(at, member)
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		if rec, err := recording.Open(path); !errors.Is(err, fs.ErrNotExist) {
			return rec, err
		}
	}
	r, err := open(at)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.IsRecording() {
		return r.OpenProgram(0)
	}
	for i := range r.programs {
		if r.programs[i].Member == member {
			return r.OpenProgram(i)
		}
	}
	return nil, fmt.Errorf("%s: has no recording %s", at, member)
}

// File returns the file that is the recording at an address; "" if the recording is in a pack, or nowhere.
func File(address string) string {
	at, _, ok := split(address)
	if st, err := os.Stat(address); err == nil && st.Mode().IsRegular() || !ok {
		return address
	}
	if st, err := os.Stat(at); err == nil && st.Mode().IsRegular() {
		return at
	}
	return ""
}

// Of returns the run that an address leads to; "" if it is the path of a recording that is not in a run.
func Of(address string) string {
	at, _, ok := split(address)
	if !ok {
		return ""
	}
	return at
}

// Lacks returns those of some addresses whose recordings are not in the run.
func (r *Run) Lacks(addresses []string) (list []string) {
	has := map[string]bool{}
	for i := range r.programs {
		has[r.programs[i].Member] = true
	}
	for _, address := range addresses {
		at, member, ok := split(address)
		if address != r.path && (!ok || at != r.path || !has[member] && !r.IsRecording()) {
			list = append(list, address)
		}
	}
	return list
}
