package answer

import (
	"encoding/base64"

	"github.com/heaptap/heaptap/internal/query"
)

// HeapFilm says at some moments how full the pages are on which blocks ever lay. All blocks of the process count.
type HeapFilm struct {
	Head
	Color   string       `json:"color"`
	Cells   int          `json:"cells"`
	Bands   []HeapBand   `json:"bands"`
	Tints   []string     `json:"tints"`   // names of groups or threads; the next tint is that of all others
	LastNS  int64        `json:"last_ns"` // the oldest age
	Moments []HeapMoment `json:"moments"`
	Picture *HeapPlaces  `json:"picture,omitempty"` // if there is a picture
}

// HeapBand are neighbouring cells of one kind.
type HeapBand struct {
	Kind      string       `json:"kind"`
	FirstCell int          `json:"first_cell"`
	Cells     int          `json:"cells"`
	CellPages uint64       `json:"cell_pages"` // pages of 4 KiB in a cell
	Pages     uint64       `json:"pages"`
	Threads   []HeapThread `json:"threads"` // those that allocated most small blocks there
	Runs      []HeapRun    `json:"runs"`
}

// HeapThread is a thread, and what share of the small blocks it allocated.
type HeapThread struct {
	Thread
	Share float64 `json:"share"`
}

// HeapRun are neighbouring pages.
type HeapRun struct {
	Address string `json:"address"`
	Pages   uint64 `json:"pages"`
	Cell    int    `json:"cell"` // of the first page
	Page    uint64 `json:"page"` // its number in that cell
}

// HeapMoment is one picture. Fill says how full each cell is, from 0, empty, to 255, full. Age is a logarithmic scale
// from 0, a thousandth of LastNS and less, to 255, all of it. Tint is an index into Tints. Resident says which share of
// its pages is in memory, as Fill does; Absent, rounded down, which share is not: at others nobody looked. Each has a
// byte for each cell, in base64.
type HeapMoment struct {
	TimeNS int64  `json:"time_ns"`
	Events uint64 `json:"events"`
	AtPeak bool   `json:"at_peak"`
	Live   Count  `json:"live"`
	Fill   string `json:"fill"`
	Age    string `json:"age"`
	Tint   string `json:"tint,omitempty"` // if Color is stack or thread
	// Resident is left out if it was not recorded which pages are in memory.
	Resident string `json:"resident,omitempty"`
	Absent   string `json:"absent,omitempty"` // likewise
}

// HeapPlaces says where in a picture cells are, in pixels.
type HeapPlaces struct {
	Width    int         `json:"width"`
	Height   int         `json:"height"`
	CellSize int         `json:"cell_size"`
	Pitch    int         `json:"pitch"` // from one cell to the next
	Columns  int         `json:"columns"`
	Bands    []HeapPlace `json:"bands"` // where the first cell of each is
}

// HeapPlace is a place in a picture.
type HeapPlace struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// NewHeapFilm makes the answer.
func NewHeapFilm(s *query.Source, f *query.HeapFilm, places *HeapPlaces) *HeapFilm {
	j := &HeapFilm{Head: newHead(s, &f.Answer), Color: f.Color.String(), Cells: len(f.Capacity), Bands: []HeapBand{},
		Tints: append([]string{}, f.Groups...), LastNS: f.Last, Moments: []HeapMoment{}, Picture: places}
	for i := range f.Bands {
		b := &f.Bands[i]
		x := HeapBand{Kind: b.Kind.String(), FirstCell: b.First, Cells: b.Cells, CellPages: b.CellPages,
			Pages: b.Pages, Threads: []HeapThread{}, Runs: []HeapRun{}}
		for _, t := range b.Threads {
			x.Threads = append(x.Threads, HeapThread{NewThread(s, t.Thread), t.Share})
		}
		for k := range b.Runs {
			r := &b.Runs[k]
			cell, page := r.Place()
			x.Runs = append(x.Runs, HeapRun{hex(r.From * query.PageSize), r.To - r.From, cell, page})
		}
		j.Bands = append(j.Bands, x)
	}
	for i := range f.Pictures {
		p := &f.Pictures[i]
		text := base64.StdEncoding.EncodeToString
		j.Moments = append(j.Moments, HeapMoment{p.Time, p.Cut, p.AtPeak, Count{p.Live.Blocks, p.Live.Bytes},
			text(p.Fill), text(p.Age), text(p.Tint), text(p.Resident), text(p.Absent)})
	}
	return j
}
