package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/namecache"
)

func newCacheCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show what heaptap keeps between runs, or clear it",
		Long: `Cache shows what heaptap keeps between runs: the names, files and lines of the functions that
recordings needed, by the build id of the program or library. Without them each run would have to
read the debug information again at its end. A debug file that is installed later is noticed. When
the cache becomes too large, what was not used for the longest time is removed.

The folder is below XDG_CACHE_HOME, or ~/.cache. It is used only if it belongs to you and nobody
else may write to it.`,
		Example: `  heaptap cache
  heaptap cache clear`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir := namecache.Dir()
			usage, err := cacheUsage(dir)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{
					"folder": dir, "builds": usage.Builds, "bytes": usage.Bytes, "limit": namecache.DefaultLimit,
				})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"names of functions: %s of at most %s, programs and libraries: %d, folder: %s\n",
				humanize.Size(uint64(usage.Bytes)), humanize.Size(namecache.DefaultLimit), usage.Builds, dir)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.AddCommand(&cobra.Command{
		Use:   "clear",
		Short: "Remove what heaptap keeps between runs",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := namecache.OpenExisting(namecache.Dir())
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			defer c.Close()
			return c.Prune(0)
		},
	})
	return cmd
}

// cacheUsage is zero if there is no cache yet.
func cacheUsage(dir string) (namecache.Usage, error) {
	c, err := namecache.OpenExisting(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return namecache.Usage{}, nil
	}
	if err != nil {
		return namecache.Usage{}, err
	}
	defer c.Close()
	return c.Usage()
}
