package spill

import "golang.org/x/sys/unix"

// DefaultLimit is how many bytes may be spilled into a folder if the user has set no limit: 4 GiB, or half of the free
// disk if that is less.
func DefaultLimit(dir string) int64 {
	const most = 4 << 30
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return most
	}
	return min(most, int64(fs.Bavail)*fs.Bsize/2)
}
