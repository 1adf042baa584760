package outfile

import (
	"fmt"
	"os"
)

// Free reports an error if a file must not be written: it is a folder, or it exists and force is not given.
func Free(path string, force bool) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil
	case st.IsDir():
		return fmt.Errorf("%s: is a folder; -o names a file", path)
	case !force:
		return fmt.Errorf("%s: exists already (--force replaces it)", path)
	}
	return nil
}
