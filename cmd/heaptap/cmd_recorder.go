package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/debuginfod"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/namecache"
	"github.com/heaptap/heaptap/internal/record"
	"github.com/heaptap/heaptap/internal/record/watch"
	"github.com/heaptap/heaptap/internal/reply"
)

// newRecorderCommand is the command of the recorder, which `heaptap run` starts.
func newRecorderCommand() *cobra.Command {
	return &cobra.Command{
		Use:    launch.RecorderCommand,
		Hidden: true,
		Args:   noArgs,
		RunE:   func(*cobra.Command, []string) error { return launch.Serve(recordRun) },
	}
}

// recordRun connects packages record and launch, which do not import each other.
func recordRun(ctx context.Context, link *launch.Link) error {
	main, ended := make(chan int, 1), make(chan record.Status, 1)
	go func() {
		defer close(main)
		for m := range link.Main {
			main <- m.PID
		}
	}()
	go func() {
		defer close(ended)
		for e := range link.MainEnded {
			ended <- statusOf(e)
		}
	}()
	var conditions []watch.Condition
	for _, text := range link.Config.MarkWhen {
		c, err := watch.ParseCondition(text)
		if err != nil {
			return err
		}
		conditions = append(conditions, c)
	}
	config := recordConfig(&link.Config, ended)
	config.MarkEvery, config.MarkWhen, config.Marks = link.Config.MarkEvery, conditions, link.Marks
	config.Launcher, config.Main, config.Flush = link.Config.RunPID, main, link.Config.Flush
	config.Fetch = debugFiles(func(text string) { link.Send(launch.Message{Progress: text}) })
	config.Dump = func(recording string, q control.Request) ([]byte, error) {
		if q.Verb == control.Threshold {
			return reply.Threshold(ctx, recording, q, link.Config.Command, link.Config.CommandTime)
		}
		return reply.Dump(recording, q)
	}
	config.Report = func(r record.Report) {
		switch r.Kind {
		case record.Ready:
			link.Send(launch.Message{Ready: true})
		case record.Started:
			link.Send(launch.Message{Started: recordingOf(r)})
		case record.Finished:
			link.Send(launch.Message{Finished: recordingOf(r)})
		case record.Note:
			link.Send(launch.Message{Note: r.Text})
		case record.Settled:
			link.Send(launch.Message{Settled: &launch.Settled{Running: r.Running, Seen: r.Seen}})
		}
	}
	return record.Run(ctx, config)
}

// recordConfig is what a run's recorder and the one that comes after it have in common.
func recordConfig(c *launch.RecorderConfig, ended <-chan record.Status) record.Config {
	return record.Config{RunDir: c.RunDir, Output: c.Output, Unit: c.Unit, OutputMode: c.OutputMode, Taken: c.Taken,
		SpillDir: c.SpillDir, SpillLimit: c.SpillLimit, Keep: c.Keep, MaxSize: c.MaxSize, MaxDepth: c.MaxDepth,
		Addresses: c.Addresses, Residency: c.Residency, MinEvents: c.MinEvents, MainEnded: ended, Version: version(),
		Names: cachedNames()}
}

// cachedNames opens the user's cache of names; nil if it cannot be used, which only costs time ("heaptap cache" says
// why).
func cachedNames() *namecache.Cache {
	c, err := namecache.Open(namecache.Dir())
	if err != nil {
		return nil
	}
	return c
}

// debugFiles returns a function for record.Config.Fetch: it asks the servers in DEBUGINFOD_URLS, and reports each
// download. It is nil if there are no servers.
func debugFiles(report func(text string)) func(context.Context, []byte) (string, error) {
	c := debuginfod.FromEnvironment()
	if c == nil {
		return nil
	}
	c.Begin = func(url string, bytes int64) {
		size := ""
		if bytes >= 0 {
			size = humanize.Size(uint64(bytes)) + " of "
		}
		report("downloading " + size + "debug information: " + url)
	}
	return c.DebugFile
}

func statusOf(e launch.MainEnd) record.Status {
	return record.Status{Exited: e.Signal == 0, Code: e.Exit, Signal: e.Signal, MaxRSS: e.MaxRSS}
}

func recordingOf(r record.Report) *launch.Recording {
	rec := &launch.Recording{Path: r.Path, PID: r.PID, Main: r.Main, Program: filepath.Base(r.Exe), Dropped: r.Dropped}
	if r.Err != nil {
		rec.Error = r.Err.Error()
	}
	if t := r.Totals; t != nil {
		rec.Events, rec.Peak, rec.Leaked = t.Events, t.Peak.Bytes, t.LiveBytes
		rec.Resident = r.Resident
	}
	rec.Lost, rec.Unseen = r.Health.LostEvents, r.Unseen
	return rec
}

// rescue completes the recordings of a spool whose recorder died.
func rescue(ctx context.Context, spool string, config launch.RecorderConfig, main bool,
	end *launch.MainEnd) ([]launch.Recording, error) {
	var list []launch.Recording
	ended := make(chan record.Status, 1)
	if end != nil {
		ended <- statusOf(*end)
	}
	close(ended)
	to := recordConfig(&config, ended)
	to.NotMain, to.Fetch = !main, debugFiles(func(string) {})
	to.Report = func(r record.Report) {
		if r.Kind == record.Finished && r.Err == nil && !r.Dropped {
			list = append(list, *recordingOf(r))
		}
	}
	err := record.Recover(ctx, spool, to)
	return list, err
}
