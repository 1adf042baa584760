// Package debuginfod downloads debug files by build id from debuginfod(8) servers, and shares their cache with other
// clients (gdb, perf, debuginfod-find). It does nothing unless the user names servers: a debug file may be hundreds of
// megabytes.
package debuginfod

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Client asks servers.
type Client struct {
	// Begin is called before a download is written, with the server and the number of bytes (-1: unknown). It may be
	// nil.
	Begin func(url string, bytes int64)

	servers []string
	dir     string
	slow    time.Duration // time within which slowBytes must arrive
	most    time.Duration // for one file; 0: no limit
	maxSize int64         // of one file; 0: no limit
	http    *http.Client

	mu   sync.Mutex
	down map[string]bool // servers that did not answer and are not asked again
}

// slowBytes must arrive within DEBUGINFOD_TIMEOUT, else the server is given up (debuginfod_find_debuginfo(3)).
const slowBytes = 100 << 10

// connectTime bounds the time to connect to a server: a firewall may drop all packets.
const connectTime = 10 * time.Second

// missFor is how long a negative answer is remembered.
const missFor = 10 * time.Minute

// FromEnvironment returns a client of the servers in DEBUGINFOD_URLS, separated by spaces; nil if there are none.
// DEBUGINFOD_CACHE_PATH, DEBUGINFOD_TIMEOUT (seconds), DEBUGINFOD_MAXTIME (seconds) and DEBUGINFOD_MAXSIZE (bytes) mean
// what debuginfod_find_debuginfo(3) says.
func FromEnvironment() *Client {
	c := &Client{slow: 90 * time.Second, dir: cacheDir(), down: map[string]bool{}}
	for url := range strings.FieldsSeq(os.Getenv("DEBUGINFOD_URLS")) {
		if strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
			c.servers = append(c.servers, strings.TrimSuffix(url, "/"))
		}
	}
	if len(c.servers) == 0 || c.dir == "" {
		return nil
	}
	seconds := func(name string, to *time.Duration) {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			*to = time.Duration(n) * time.Second
		}
	}
	seconds("DEBUGINFOD_TIMEOUT", &c.slow)
	seconds("DEBUGINFOD_MAXTIME", &c.most)
	if n, err := strconv.ParseInt(os.Getenv("DEBUGINFOD_MAXSIZE"), 10, 64); err == nil && n > 0 {
		c.maxSize = n
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: connectTime}).DialContext
	c.http = &http.Client{Transport: transport}
	return c
}

// cacheDir returns the cache folder; "" if there is none.
func cacheDir() string {
	if dir := os.Getenv("DEBUGINFOD_CACHE_PATH"); dir != "" {
		return dir
	}
	if home := os.Getenv("HOME"); home != "" {
		if old := filepath.Join(home, ".debuginfod_client_cache"); isDir(old) {
			return old
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "debuginfod_client")
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// DebugFile returns the path of the debug file with a build id, and downloads it unless it is in the cache. The path is
// "" without an error if no server has the file. A server that does not answer is an error once, and is not asked
// again. The file's contents are unverified.
func (c *Client) DebugFile(ctx context.Context, id []byte) (path string, err error) {
	if len(id) < 2 {
		return "", nil
	}
	name := hex.EncodeToString(id)
	path = filepath.Join(c.dir, name, "debuginfo")
	if st, err := os.Stat(path); err == nil {
		if st.Size() > 0 {
			return path, nil
		}
		if time.Since(st.ModTime()) < missFor {
			return "", nil
		}
	}
	var problems []error
	all := true
	for _, server := range c.servers {
		if c.isDown(server) {
			all = false // which was reported before
			continue
		}
		err := c.download(ctx, server+"/buildid/"+name+"/debuginfo", path)
		switch {
		case err == nil:
			return path, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, errSilent):
			c.mu.Lock()
			c.down[server] = true
			c.mu.Unlock()
			problems = append(problems, err)
		case !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, err)
		}
	}
	if all && len(problems) == 0 {
		c.remember(path)
	}
	return "", errors.Join(problems...)
}

func (c *Client) isDown(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down[server]
}

// remember notes with an empty file that no server has a debug file. Errors do not matter.
func (c *Client) remember(path string) {
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o400); err == nil {
			f.Close()
		}
		now := time.Now()
		_ = os.Chtimes(path, now, now)
	}
}

// errSilent is wrapped by the error for a server that does not answer.
var errSilent = errors.New("it does not answer")

// download fetches one file. The error wraps fs.ErrNotExist if the server does not have it.
func (c *Client) download(ctx context.Context, url, path string) (err error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("DEBUGINFOD_URLS: %w", err)
	}
	shown := request.URL.Redacted() // it may have a password
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.most > 0 {
		t := time.AfterFunc(c.most, func() { cancel(fmt.Errorf("it takes more than %s", c.most)) })
		defer t.Stop()
	}
	slow := time.AfterFunc(c.slow, func() {
		cancel(fmt.Errorf("%w: less than %d KiB came within %s", errSilent, slowBytes>>10, c.slow))
	})
	defer slow.Stop()
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", shown, err)
		}
	}()
	request.Header.Set("User-Agent", "heaptap")
	answer, err := c.http.Do(request.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("%w (%w)", errSilent, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return fs.ErrNotExist
	case answer.StatusCode != http.StatusOK:
		return errors.New(answer.Status)
	}
	if c.maxSize > 0 && max(answer.ContentLength, size(answer)) > c.maxSize {
		return fmt.Errorf("it has %d bytes, more than DEBUGINFOD_MAXSIZE allows (%d)",
			max(answer.ContentLength, size(answer)), c.maxSize)
	}
	if c.Begin != nil {
		c.Begin(shown, max(answer.ContentLength, size(answer)))
	}
	return c.keep(answer.Body, path, slow)
}

// size returns the uncompressed size that elfutils' servers announce for a compressed transfer; -1: unknown.
func size(answer *http.Response) int64 {
	if n, err := strconv.ParseInt(answer.Header.Get("X-Debuginfod-Size"), 10, 64); err == nil {
		return n
	}
	return -1
}

// keep writes a file atomically.
func (c *Client) keep(from io.Reader, path string, slow *time.Timer) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "debuginfo.")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	limit := from
	if c.maxSize > 0 {
		limit = io.LimitReader(from, c.maxSize+1)
	}
	n, err := io.CopyN(f, limit, slowBytes)
	slow.Stop()
	if err == nil {
		var more int64
		more, err = io.Copy(f, limit)
		n += more
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case n == 0:
		return errors.New("it sent an empty file")
	case c.maxSize > 0 && n > c.maxSize:
		return fmt.Errorf("it has more bytes than DEBUGINFOD_MAXSIZE allows (%d)", c.maxSize)
	}
	if err := f.Chmod(0o400); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
