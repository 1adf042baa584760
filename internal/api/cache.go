package api

import "github.com/heaptap/heaptap/internal/lru"

// cacheBytes is how many bytes of encoded answers are kept, at most, of what all caches of the process share.
const cacheBytes = 64 << 20

// cache keeps the latest encoded answers, compressed, by tag.
type cache struct{ *lru.Cache[string, []byte] }

func newCache() cache { return cache{lru.New[string, []byte](lru.Process, cacheBytes)} }

// get returns the answer with a tag; nil: it is not there.
func (c cache) get(tag string) []byte {
	body, _ := c.Get(tag)
	return body
}

// put keeps an answer. One that would take a quarter of the room is not kept.
func (c cache) put(tag string, body []byte) {
	const overhead = 256 // about what an answer takes beside its bytes
	if size := int64(len(body) + len(tag) + overhead); size <= cacheBytes/4 {
		c.Put(tag, body, size)
	}
}
