package parquet

import (
	"encoding/binary"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/heaptap/heaptap/internal/export/table"
)

const (
	magic     = "PAR1"
	codecZstd = 6
	pageData  = 0
	pageTexts = 2 // with the distinct values of a column
	required  = 0
	optional  = 1
)

// file is a file that is being written.
type file struct {
	w       io.Writer
	err     error
	offset  int64
	zstd    *zstd.Encoder
	columns []column
	rows    int // rows of the current group
	groups  []group
	total   int64 // rows
	creator string
	facts   []string
}

// group says where the chunks of a group are.
type group struct {
	rows   int64
	chunks []chunk
}

type chunk struct {
	offset           int64 // of its first page
	data             int64 // of the page of data
	size, compressed int64 // with the headers of pages
	encoding         int64 // of the values
	stats            stats
}

func newFile(w io.Writer, columns []table.Column, version string, facts []string) (*file, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	f := &file{w: w, zstd: z, creator: strings.TrimSpace("heaptap " + version), facts: facts}
	for _, c := range columns {
		f.columns = append(f.columns, column{Column: c})
	}
	f.write([]byte(magic))
	return f, f.err
}

func (f *file) write(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
	f.offset += int64(len(b))
}

// size returns roughly how many bytes of memory the group takes.
func (f *file) size() (n int) {
	for i := range f.columns {
		n += f.columns[i].size()
	}
	return n
}

// endGroup writes the collected rows.
func (f *file) endGroup() {
	if f.rows == 0 {
		return
	}
	g := group{rows: int64(f.rows)}
	for i := range f.columns {
		c := &f.columns[i]
		g.chunks = append(g.chunks, f.chunk(c))
		c.reset()
	}
	f.groups = append(f.groups, g)
	f.total += g.rows
	f.rows = 0
}

func (f *file) chunk(c *column) chunk {
	out := chunk{offset: f.offset, encoding: c.encoding(), stats: c.stats}
	if c.Kind == table.Text {
		out.size += f.page(c.dictionary(), pageTexts, func(t *thrift) {
			t.structure(7, func(t *thrift) {
				t.int32(1, int64(len(c.texts.List())))
				t.int32(2, encodingPlain)
			})
		})
	}
	out.data = f.offset
	out.size += f.page(c.data(), pageData, func(t *thrift) {
		t.structure(5, func(t *thrift) {
			t.int32(1, int64(c.rows))
			t.int32(2, c.encoding())
			t.int32(3, encodingRLE)
			t.int32(4, encodingRLE)
		})
	})
	out.compressed = f.offset - out.offset
	return out
}

// page writes a page and returns its length before compression, including the header.
func (f *file) page(content []byte, typ int64, fill func(t *thrift)) int64 {
	packed := f.zstd.EncodeAll(content, nil)
	var head thrift
	head.int32(1, typ)
	head.int32(2, int64(len(content)))
	head.int32(3, int64(len(packed)))
	fill(&head)
	head.b = append(head.b, 0)
	f.write(head.b)
	f.write(packed)
	return int64(len(head.b) + len(content))
}

// finish writes the last group and the footer.
func (f *file) finish() error {
	f.endGroup()
	var t thrift
	t.int32(1, 2) // version of the format
	f.schema(&t)
	t.int64(3, f.total)
	t.structures(4, len(f.groups), f.group)
	t.structures(5, len(f.facts), func(i int, t *thrift) {
		name, value, _ := strings.Cut(strings.ToValidUTF8(f.facts[i], "\uFFFD"), ": ")
		t.text(1, "heaptap."+name)
		t.text(2, value)
	})
	t.text(6, f.creator)
	// Column orders: each column has its type's order.
	t.structures(7, len(f.columns), func(_ int, t *thrift) { t.structure(1, func(*thrift) {}) })
	t.b = append(t.b, 0)
	n := len(t.b)
	f.write(t.b)
	f.write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), magic...))
	return f.err
}

// schema writes the schema: a root, and the columns below it.
func (f *file) schema(t *thrift) {
	t.structures(2, len(f.columns)+1, func(i int, t *thrift) {
		if i == 0 {
			t.text(4, "recording")
			t.int32(5, int64(len(f.columns)))
			return
		}
		c := &f.columns[i-1]
		t.int32(1, c.physical())
		if c.Null {
			t.int32(3, optional)
		} else {
			t.int32(3, required)
		}
		t.text(4, c.Name)
		switch c.Kind {
		case table.Text:
			t.int32(6, convertedText)
			t.structure(10, func(t *thrift) { t.structure(1, func(*thrift) {}) })
		case table.Uint:
			t.int32(6, convertedUint)
			t.structure(10, func(t *thrift) { integer(t, false) })
		case table.Int:
			t.int32(6, convertedInt)
			t.structure(10, func(t *thrift) { integer(t, true) })
		}
	})
}

// integer writes the logical type of a 64-bit number.
func integer(t *thrift, signed bool) {
	t.structure(10, func(t *thrift) {
		t.int8(1, 64)
		t.bool(2, signed)
	})
}

func (f *file) group(i int, t *thrift) {
	g := &f.groups[i]
	var size, compressed int64
	for i := range g.chunks {
		size, compressed = size+g.chunks[i].size, compressed+g.chunks[i].compressed
	}
	t.structures(1, len(g.chunks), func(i int, t *thrift) {
		t.int64(2, 0) // only the footer describes the chunks
		t.structure(3, func(t *thrift) { f.chunkInfo(t, &f.columns[i], &g.chunks[i], g.rows) })
	})
	t.int64(2, size)
	t.int64(3, g.rows)
	t.int64(5, g.chunks[0].offset)
	t.int64(6, compressed)
}

func (f *file) chunkInfo(t *thrift, c *column, k *chunk, rows int64) {
	t.int32(1, c.physical())
	encodings := []int64{k.encoding}
	if c.Kind == table.Text {
		encodings = append(encodings, encodingPlain)
	}
	if c.Null {
		encodings = append(encodings, encodingRLE)
	}
	t.list(2, thriftInt32, len(encodings))
	for _, e := range encodings {
		t.b = binary.AppendVarint(t.b, e)
	}
	t.list(3, thriftBinary, 1)
	t.b = append(binary.AppendUvarint(t.b, uint64(len(c.Name))), c.Name...)
	t.int32(4, codecZstd)
	t.int64(5, rows)
	t.int64(6, k.size)
	t.int64(7, k.compressed)
	t.int64(9, k.data)
	if c.Kind == table.Text {
		t.int64(11, k.offset)
	}
	t.structure(12, func(t *thrift) {
		t.int64(3, k.stats.nulls)
		if k.stats.any {
			t.binary(5, number(c.Kind, &k.stats.high))
			t.binary(6, number(c.Kind, &k.stats.low))
		}
	})
}

func number(kind table.Kind, v *table.Value) []byte {
	n := v.Uint
	if kind == table.Int {
		n = uint64(v.Int)
	}
	return binary.LittleEndian.AppendUint64(nil, n)
}
