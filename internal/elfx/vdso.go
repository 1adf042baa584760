package elfx

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// VDSO reads the image that the kernel maps into this process. Processes of the same kernel and architecture share it,
// as the build id confirms.
func VDSO() (*File, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer maps.Close()
	for s := bufio.NewScanner(maps); s.Scan(); {
		if !strings.HasSuffix(s.Text(), "[vdso]") {
			continue
		}
		var start, end uint64
		if _, err := fmt.Sscanf(s.Text(), "%x-%x ", &start, &end); err != nil || end <= start || end-start > 1<<20 {
			return nil, fmt.Errorf("/proc/self/maps: unexpected line %q", s.Text())
		}
		mem, err := os.Open("/proc/self/mem")
		if err != nil {
			return nil, err
		}
		defer mem.Close()
		image := make([]byte, end-start)
		if _, err := mem.ReadAt(image, int64(start)); err != nil {
			return nil, fmt.Errorf("reading the vdso: %w", err)
		}
		return FromBytes("[vdso]", image)
	}
	return nil, fmt.Errorf("this process has no vdso")
}
