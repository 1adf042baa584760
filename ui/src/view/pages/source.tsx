// The source page of the app.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { App, Selected } from "../../app.ts";
import type { MetricName } from "../../api.ts";
import { lineFocus } from "../../model/details.ts";
import { editorLink } from "../../model/editor.ts";
import { filtersOf } from "../../model/filters.ts";
import { metricAt, metricOf, metricsAt, type Times } from "../../model/metrics.ts";
import type { Place } from "../../model/place.ts";
import { firstFile, SourceReader, type Call, type Entry, type Sheet } from "../../model/source.ts";
import { askEntries, askPlace, sourceQuestion, type Entries } from "../../net/source.ts";
import { editorTemplate } from "../editor.tsx";
import { Bone } from "../figures.tsx";
import type { Go } from "../go.tsx";
import { goOf } from "../go-of.ts";
import { Answered, useActions, useMainPart, usePart } from "../part.tsx";
import { SourceList, SourceView } from "../source.tsx";
import { EmptyBox } from "../states.tsx";
import { WaysBack } from "../ways-back.tsx";

/** The columns. */
function metricsOf(place: Place, range: Times): MetricName[] {
  return metricsAt(place, range, ["allocations", "bytes"]);
}

export function Source({ app }: { app: App }) {
  const match = useSignal("");
  const asked = useMemo(() => signal(""), []); // what the list was asked for: a little after what is typed
  useEffect(() => {
    const timer = setTimeout(() => (asked.value = match.value), 120);
    return () => clearTimeout(timer);
  }, [match.value]);
  const first = useMemo(() => signal<string | undefined>(undefined), []);
  const list = usePart<Entries>(app, "source-list", ({ recording, place, filters, rough }) => {
    const [metric = "peak"] = metricsOf(place, filters);
    const parameters = { ...filters, ...(rough && { rough: "pixel" }) };
    const wanted = asked.value;
    return {
      base: recording,
      key: JSON.stringify([recording, parameters, metric, wanted]),
      run: (ask) => askEntries(ask, recording, parameters, metric, wanted),
    };
  });
  const entries = list.shown.value?.value;
  const place = app.place.value;
  useEffect(() => {
    if (entries && asked.value === "") first.value = firstFile(entries.files);
  }, [entries]);

  const lines = useMainPart(app, "source-lines", ({ place, filters }: Selected) => {
    const file = place.file ?? first.value;
    return file === undefined ? undefined : sourceQuestion(filters, file, metricsOf(place, filters), place.at);
  });

  // A name that is followed is looked up first: where it is.
  const places = useMemo(() => app.follower<{ file: string; line: number } | undefined>("source-place"), [app]);
  const follow = (name: string) => {
    const { recording } = app.place.value;
    if (recording === undefined) return;
    const stop = places.shown.subscribe((shown) => {
      if (shown?.task.key !== `${recording} ${name}`) return;
      if (shown.value) app.change({ file: shown.value.file, line: String(shown.value.line), picked: [] });
      queueMicrotask(() => stop());
    });
    places.settle({ base: recording, key: `${recording} ${name}`, run: (ask) => askPlace(ask, recording, name) });
  };
  const toFunction = (name: string): Go => ({
    href: goOf(app, { picked: [name], file: undefined, line: undefined }).href,
    follow: () => follow(name),
  });

  return (
    <div class="source-page">
      <Answered part={list} skeleton={<Bone width="80%" />}>
        {(shown) => (
          <SourceList
            {...shown}
            unit={metricOf(metricAt(place, filtersOf(place, app.brush.value)))?.unit ?? "bytes"}
            file={place.file ?? first.value}
            match={match}
            go={(entry: Entry) =>
              entry.kind === "file"
                ? goOf(app, { file: entry.name, line: undefined, picked: [] })
                : toFunction(entry.name)
            }
          />
        )}
      </Answered>
      {entries && entries.files.length === 0 && place.file === undefined && asked.value === "" ? (
        <EmptyBox
          why="No call stack of this selection has source lines: the program was built without debug information."
          command="heaptap run ./program   # built with -g"
        >
          <WaysBack app={app} />
        </EmptyBox>
      ) : (
        <Answered part={lines} skeleton={<Bone width="60%" />}>
          {(sheet) =>
            sheet ? (
              <File app={app} sheet={sheet} called={(call) => toFunction(call.name)} />
            ) : (
              <EmptyBox why="The selection has nothing of this file.">
                <WaysBack app={app} />
              </EmptyBox>
            )
          }
        </Answered>
      )}
    </div>
  );
}

function File(props: { app: App; sheet: Sheet; called: (call: Call) => Go }) {
  const { app, sheet, called } = props;
  const reader = useMemo(() => new SourceReader(), []);
  const searching = useSignal(0);
  const going = useSignal(0);
  const place = app.place.value;
  const line = Number(place.line) || undefined;
  const of = useMemo(() => {
    reader.show(sheet);
    return sheet;
  }, [sheet]);
  useEffect(() => {
    if (line !== undefined && reader.current.peek() !== line) reader.goTo(line);
    else if (line === undefined && reader.current.peek() === 0) reader.hottest();
  }, [of.file, line]);
  const select = (at: number) => app.change({ file: sheet.file, line: String(at), picked: [] });
  const editor = (file: string, at: number) => editorLink(editorTemplate.value, file, at);
  useActions(app, {
    "find.here": () => searching.value++,
    "source.line": () => going.value++,
    "source.next": () => reader.match(1),
    "source.previous": () => reader.match(-1),
    "source.hottest": () => reader.hottest(),
    "source.select": () => reader.current.value > 0 && select(reader.current.value),
    "source.editor": () => {
      const link = editor(sheet.found ?? "", reader.current.value);
      if (link !== undefined) location.assign(link);
    },
  });
  return (
    <SourceView
      reader={reader}
      sheet={of}
      select={select}
      selected={line}
      called={called}
      flame={(at) => goOf(app, { page: "flame", focus: [...place.focus, lineFocus(sheet.file, at)], picked: [] })}
      editor={editor}
      searching={searching}
      going={going}
    />
  );
}
