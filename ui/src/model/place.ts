// Where the reader is: all that the address of the page says. Names and values are those of the API and of the command
// line, so that a view, a URL and a command are one thing. The address never holds the token.

/** The pages, in the order of their keys. */
export const pageNames = [
  "overview", "flame", "table", "tree", "leaks", "source", "generations", "timeline", "sizes", "threads", "blocks",
  "heap", "events", "more", "sql",
] as const;
export type PageName = (typeof pageNames)[number];

/** Values of one text. Undefined: the default of the question. */
const texts = [
  "recording", // whose answers are shown; undefined: the list of recordings
  "from", // the selected range of time,
  "to",
  "from2", // and the one to compare it with
  "to2",
  "at", // the cursor: a moment
  "zoom", // the span of time that the timeline shows, FROM..TO
  "size",
  "old-size", // of the block that realloc made it of
  "lifetime",
  "by",
  "of",
  "sort",
  "match",
  "search", // what is highlighted
  "shape", // of the flame graph
  "colour",
  "order",
  "file",
  "line",
  "top", // how many layers the timeline has
  "event", // the number of an event, from which on the log is shown
  "block", // the number of the allocation of the block that is explained
  "address", // the one that blocks shall hold
  "overlay", // how the timeline puts side A over side B: by time, mark or share
  "rows", // of generations
  "columns",
  "sql", // the question of the page SQL
  "tint", // by what pages of the heap are coloured
] as const;

/** Values of several texts, in their order. */
const lists = [
  "metric",
  "thread",
  "freed-by",
  "region",
  "module",
  "focus",
  "ignore",
  "hide",
  "collapse",
  "below",
  "with", // the recordings to compare with: several are runs of the same
  "also", // more runs beside the recording
  "kind", // of events
  "mark", // names of the marks between which generations' rows are spans; none: all
  "picked", // what the right side explains: the names of a path, outermost first; one name: a function
] as const;

const flags = [
  "up",
  "self",
  "reverse",
  "unfolded", // library frames are shown
  "compare", // pages show what differs from side A: the second range, or other recordings
  "scale", // side A is multiplied, so that the totals are equal
  "marks", // the rows of generations are spans between marks
  "live", // the timeline shows live bytes alone
] as const;

type Text = (typeof texts)[number];
type List = (typeof lists)[number];
type Flag = (typeof flags)[number];

export type Place = { page: PageName } & { [K in Text]: string | undefined } & { [K in List]: readonly string[] } & {
  [K in Flag]: boolean;
};

/** The list of recordings. */
export const home: Place = read(new URLSearchParams());

/** The first page of a recording. */
export function placeOf(recording: string): Place {
  return { ...home, recording };
}

/** Reads the query of an address, such as ?recording=2. What it does not know, it ignores. */
export function parsePlace(query: string): Place {
  return read(new URLSearchParams(query));
}

function read(values: URLSearchParams): Place {
  const page = pageNames.find((name) => name === values.get("page")) ?? "overview";
  const entries = [
    ...texts.map((name) => [name, values.get(name) || undefined]),
    ...lists.map((name) => [name, values.getAll(name).filter((value) => value !== "")]),
    ...flags.map((name) => [name, values.has(name)]),
  ];
  const place = { page, ...Object.fromEntries(entries) } as Place;
  // As links of earlier versions say it.
  return place.shape === "difference" ? { ...place, shape: undefined, compare: true } : place;
}

/** The address of a place: a path with its query. */
export function formatPlace(place: Place): string {
  const parts: string[] = [];
  const add = (name: string, value: string) => parts.push(`${name}=${escape(value)}`);
  if (place.recording !== undefined) add("recording", place.recording);
  if (place.page !== "overview") add("page", place.page);
  for (const name of texts) {
    const value = place[name];
    if (name !== "recording" && value !== undefined && value !== "") add(name, value);
  }
  for (const name of lists) for (const value of place[name]) if (value !== "") add(name, value);
  for (const name of flags) if (place[name]) parts.push(name);
  return parts.length === 0 ? "/" : `/?${parts.join("&")}`;
}

/** Halves of surrogate pairs, which no encoding of text has. */
const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Escapes a value for a query. What people read and needs no escape there stays: colons, commas, slashes. */
function escape(value: string): string {
  return encodeURIComponent(value.replace(half, "\ufffd"))
    .replace(/%(3A|2C|2F|40|3B|28|29)/g, (code) => decodeURIComponent(code))
    .replaceAll("%20", "+");
}

/** What a place has picked, for the right side to explain. */
export type Picked =
  | { kind: "function"; name: string }
  | { kind: "stack"; path: readonly string[]; up: boolean } // as `below` has it: from where the tree begins
  | { kind: "line"; file: string; line: number };

/** What a place has picked; undefined: nothing. */
export function pickedOf(place: Place): Picked | undefined {
  const [first, ...more] = place.picked;
  if (first === undefined) {
    const line = Number(place.line);
    if (place.page !== "source" || place.file === undefined || !Number.isInteger(line) || line <= 0) return undefined;
    return { kind: "line", file: place.file, line };
  }
  return more.length === 0 ? { kind: "function", name: first } : { kind: "stack", path: place.picked, up: place.up };
}
