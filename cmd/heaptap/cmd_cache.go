package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/cachedir"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/namecache"
	"github.com/heaptap/heaptap/internal/recording/atlas"
)

func newCacheCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show what heaptap keeps between runs, or clear it",
		Long: `Cache shows what heaptap keeps between runs. When one of the caches becomes too large, what was not
used for the longest time is removed.

- Names, files and lines of the functions that recordings needed, by the build id of the program or
  library. Without them each run would have to read the debug information again at its end. A debug
  file that is installed later is noticed.
- Atlases: what recordings that were opened changed at each call stack, in 1,000 steps. Without them
  heaptap would have to read all events of a recording again before it can follow the mouse.

The folders are below XDG_CACHE_HOME, or ~/.cache. A folder is used only if it belongs to you and
nobody else may write to it.`,
		Example: `  heaptap cache
  heaptap cache clear`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, err := usageOf(openNames())
			if err != nil {
				return err
			}
			atlases, err := usageOf(openAtlases())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{
					"folder": namecache.Dir(), "builds": names.Builds, "bytes": names.Bytes,
					"limit": namecache.DefaultLimit,
					"atlases": map[string]any{"folder": atlas.Dir(), "recordings": atlases.Files,
						"bytes": atlases.Bytes, "limit": atlas.DefaultLimit},
				})
			}
			return showCaches(cmd.OutOrStdout(), names, atlases)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.AddCommand(&cobra.Command{
		Use:   "clear",
		Short: "Remove what heaptap keeps between runs",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.Join(clearCache(openNames()), clearCache(openAtlases()))
		},
	})
	return cmd
}

func showCaches(out io.Writer, names namecache.Usage, atlases cachedir.Usage) error {
	_, err := fmt.Fprintf(out, "names of functions: %s of at most %s, programs and libraries: %d, folder: %s\n"+
		"atlases: %s of at most %s, recordings: %d, folder: %s\n",
		humanize.Size(uint64(names.Bytes)), humanize.Size(namecache.DefaultLimit), names.Builds, namecache.Dir(),
		humanize.Size(uint64(atlases.Bytes)), humanize.Size(atlas.DefaultLimit), atlases.Files, atlas.Dir())
	return err
}

// openNames and openAtlases open a cache; the error wraps fs.ErrNotExist if there is none yet.
func openNames() (*namecache.Cache, error) { return namecache.OpenExisting(namecache.Dir()) }

func openAtlases() (*atlas.Cache, error) { return atlas.OpenExistingCache(atlas.Dir()) }

// usageOf is zero if there is no cache yet.
func usageOf[U any, C interface {
	Usage() (U, error)
	Close()
}](c C, err error) (usage U, _ error) {
	if errors.Is(err, fs.ErrNotExist) {
		return usage, nil
	}
	if err != nil {
		return usage, err
	}
	defer c.Close()
	return c.Usage()
}

func clearCache[C interface {
	Prune(limit int64) error
	Close()
}](c C, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Prune(0)
}
