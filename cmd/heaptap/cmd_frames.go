package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/heapfilm"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/timeref"
)

// framesCommand draws the heap.
type framesCommand struct {
	question.Question
	codeFlags
	programs             programFlags
	output, color, theme string
	size                 string
	frames               int
	json                 bool
}

func newFramesCommand() *cobra.Command {
	c := &framesCommand{}
	cmd := &cobra.Command{
		Use:   "frames [flags] [RUN]",
		Short: "Draw the heap, page by page, as a film or a picture",
		Long: `Frames draws the pages on which blocks lie, the lowest address first: how full they are (--color), and
below how many bytes were live. Gaps between addresses are left out; pages that were once used keep their
place. Where the pages are more than the picture has room for, a cell stands for several: its label says so.

-o names what is made: a film (.gif) of moments at equal distances, the peak among them; one picture (.png)
of the peak or of --at; or a folder, with a picture for each moment of the film. Default: NAME.gif in the
working directory. --json prints what is drawn; docs/queries.md describes it.

With heaptap run --residency, pages that are in memory without a live block have a colour of their own.

The recording has to say where blocks were: heaptap run --addresses. All blocks of the process count.
What a band is (heap, arena, mappings) follows from where it is and from the sizes of its blocks.`,
		Example: `  heaptap run --addresses -o server.htap ./server
  heaptap frames -o heap.gif server.htap
  heaptap frames --at end --color stack -o end.png server.htap
  heaptap frames --frames 20 --color age --theme light -o frames/ server.htap`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.output, "output", "o", "", "write to `FILE`.gif, FILE.png, or into this folder (FOLDER/ is made "+
		"if it does not exist)")
	f.StringVar(&c.From, "from", "start", "begin at `TIME`: "+timeref.Help)
	f.StringVar(&c.To, "to", "end", "end at `TIME`")
	f.StringVar(&c.At, "at", "", "draw one picture, of this `TIME`")
	f.IntVar(&c.frames, "frames", 100, fmt.Sprintf("draw `N` moments, at most %d", query.MostHeapMoments))
	f.StringVar(&c.color, "color", query.ColorOccupancy.String(), "colour pages by `WHAT`: "+
		strings.Join(query.HeapColors(), ", "))
	f.StringVar(&c.theme, "theme", "dark", "use these `COLOURS`: "+strings.Join(heapfilm.Themes(), ", "))
	f.StringVar(&c.size, "size", "1200x720", "make pictures of `WxH` pixels")
	f.BoolVar(&c.json, "json", false, "print one JSON object, and write files only if -o says so")
	c.code(f)
	c.programs.add(f)
	complete(cmd, "color", query.HeapColors())
	complete(cmd, "theme", heapfilm.Themes())
	return cmd
}

// form is what is made.
type form uint8

const (
	aFilm form = iota
	aPicture
	aFolder
)

// form finds out what -o names.
func (c *framesCommand) form() (form, error) {
	st, err := os.Stat(c.output)
	switch extension := strings.ToLower(filepath.Ext(c.output)); {
	case strings.HasSuffix(c.output, "/"), err == nil && st.IsDir():
		return aFolder, nil
	case c.output == "" && c.At != "", extension == ".png":
		return aPicture, nil
	case c.output == "", extension == ".gif":
		return aFilm, nil
	}
	return aFilm, usagef("frames: -o %s: a film is a .gif, a picture a .png, and a folder ends with /", c.output)
}

// look reads how pictures look.
func (c *framesCommand) look(cmd *cobra.Command) (l heapfilm.Look, color query.HeapColor, err error) {
	var ok bool
	if color, ok = query.ParseHeapColor(c.color); !ok {
		return l, color, unknownWord(cmd, "color", c.color, query.HeapColors())
	}
	if l.Theme, ok = heapfilm.ParseTheme(c.theme); !ok {
		return l, color, unknownWord(cmd, "theme", c.theme, heapfilm.Themes())
	}
	width, height, _ := strings.Cut(c.size, "x")
	w, err := strconv.Atoi(width)
	h, err2 := strconv.Atoi(height)
	if err != nil || err2 != nil || w < heapfilm.MinWidth || w > heapfilm.MaxWidth || h < heapfilm.MinHeight ||
		h > heapfilm.MaxHeight {
		return l, color, usagef("frames: --size %s: from %dx%d to %dx%d, for example 1200x720", c.size,
			heapfilm.MinWidth, heapfilm.MinHeight, heapfilm.MaxWidth, heapfilm.MaxHeight)
	}
	l.Width, l.Height = w, h
	return l, color, nil
}

func (c *framesCommand) run(cmd *cobra.Command, args []string) error {
	look, color, err := c.look(cmd)
	if err != nil {
		return err
	}
	kind, err := c.form()
	switch {
	case err != nil:
		return err
	case c.frames < 1 || c.frames > query.MostHeapMoments:
		return usagef("frames: --frames %d: from 1 to %d", c.frames, query.MostHeapMoments)
	case kind == aPicture && cmd.Flags().Changed("frames"):
		return usagef("frames: --frames has no effect with -o %s, which is one picture", c.output)
	case kind != aPicture && c.At != "" && c.output != "":
		return usagef("frames: --at is one picture: -o names a .png")
	}
	s, err := c.programs.open(cmd, args...)
	if err != nil {
		return err
	}
	rules, err := c.rules(cmd)
	if err == nil {
		s.Profile.SetCode(rules)
		err = c.draw(cmd, s, kind, look, color)
	}
	return errors.Join(err, s.Close())
}

// draw answers the question, and draws the answer.
func (c *framesCommand) draw(cmd *cobra.Command, s *query.Source, kind form, look heapfilm.Look,
	color query.HeapColor) error {
	q, err := c.Query(s)
	if err != nil {
		return usage(cmd, err)
	}
	if note := c.Beyond(s); note != "" {
		sayTo(cmd)(note)
	}
	q.Progress = progress(cmd)
	want := query.HeapWish{Moments: c.frames, Cells: heapfilm.Room(&look, color), Color: color,
		Ages: c.json, Group: s.Profile.ChangeableName}
	if kind == aPicture {
		want.Moments = 1
	}
	film, err := query.Film(cmd.Context(), s, q, want)
	if err != nil {
		return err
	}
	if film.Missing != "" {
		sayTo(cmd)("only what is readable is drawn: " + film.Missing)
	}
	curve, err := query.Timeline(cmd.Context(), s, &query.Query{Range: q.Range}, look.Width, true)
	if err != nil {
		return err
	}
	look.Title = outfile.Name(s.Reader.Name())
	if exe := s.Profile.Process.Exe; exe != "" {
		look.Title = filepath.Base(exe)
	}
	p, err := heapfilm.New(film, curve, look)
	if err != nil {
		return fmt.Errorf("frames: --size %s: %w", c.size, err)
	}
	if c.output != "" || !c.json {
		if err := c.write(cmd, s, p, kind); err != nil {
			return err
		}
	}
	if c.json {
		return answer.Write(cmd.OutOrStdout(), answer.NewHeapFilm(s, film, p.Places()))
	}
	return nil
}

// write writes the film or the pictures.
func (c *framesCommand) write(cmd *cobra.Command, s *query.Source, p *heapfilm.Film, kind form) error {
	name := s.Reader.Name()
	to := outfile.Destination{File: c.output, Extension: ".gif", Names: cmd.ErrOrStderr()}
	if c.output != "" {
		to.Names = nil
	}
	show := progressOf(cmd, "drawing")
	drawn := func(done, total int) {
		if show != nil {
			show(uint64(done), uint64(total))
		}
	}
	switch kind {
	case aPicture:
		to.Extension = ".png"
		return to.Write(name, func(w io.Writer) error { return p.WritePNG(w, 0) })
	case aFolder:
		if err := os.MkdirAll(c.output, 0o777); err != nil {
			return fmt.Errorf("frames: -o %s: cannot make the folder: %w", c.output, err)
		}
		for i := range p.Pictures {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			path := filepath.Join(c.output, fmt.Sprintf("%04d.png", i+1))
			if err := outfile.File(path, func(w io.Writer) error { return p.WritePNG(w, i) }); err != nil {
				return err
			}
			drawn(i+1, len(p.Pictures))
		}
		return nil
	}
	return to.Write(name, func(w io.Writer) error { return p.WriteGIF(cmd.Context(), w, drawn) })
}
